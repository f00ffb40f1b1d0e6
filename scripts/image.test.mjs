import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const dockerfile = readFileSync('deploy/image/Dockerfile', 'utf8');
const [, , last] = dockerfile.split(/^FROM /m);

test('the image starts from scratch, and holds the files of the published package that root.mjs copies', () => {
  expect(last).toMatch(/^scratch\nCOPY --from=build \/image\/ \/\n/);
  expect(last.match(/^(COPY|ADD|RUN) /gm)).toEqual(['COPY ']);
  expect(dockerfile).toContain('RUN node deploy/image/root.mjs build/handover /image\n');
});

test('the image’s label names its version', () => {
  const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8'));
  expect(last).toContain(`LABEL org.opencontainers.image.version="${version}"\n`);
});

test('the image runs as the Deployment’s user, by number, so that a kubelet can see that it is not root', () => {
  const deployment = readFileSync('packages/install/src/deployment.ts', 'utf8');
  const [, user] = /^USER (\d+):\1$/m.exec(last) ?? [];
  expect(deployment).toContain(`runAsUser: ${user},`);
});

test('the image is built on the newest Node that comes first', () => {
  const [, major] = /^ARG NODE_IMAGE=node:(\d+)-/m.exec(dockerfile) ?? [];
  expect(readFileSync('CONTRIBUTING.md', 'utf8')).toContain(`\nNode ${major} and 22 come first.`);
  expect(major).toBe('24');
});
