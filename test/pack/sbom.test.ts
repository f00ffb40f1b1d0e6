import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { ROOT } from './src/install.ts';

const { bare } = inject('installed');
const at = (name: string): string => join(bare, 'node_modules', name);

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
}

interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const sbomOf = (name: string): Sbom =>
  JSON.parse(readFileSync(join(at(name), 'sbom.cdx.json'), 'utf8')) as Sbom;

/** From the comment with the origin above every module of a bundle; the list is made independently. */
const seenIn = (name: string): ReadonlySet<string> => {
  const dist = join(at(name), 'dist');
  const names = readdirSync(dist).flatMap((file) =>
    [
      ...readFileSync(join(dist, file), 'utf8').matchAll(
        /^\/\/ (?:.*\/)?node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\//gm,
      ),
    ].map(([, found]) => found ?? ''),
  );
  return new Set(names);
};

/** The page is minified; a comment at its top lists its contents. */
const inPage = ['preact', 'uplot'];

test('the runtime has no third-party code inside', () => {
  expect(sbomOf('@handover/runtime').components).toEqual([]);
  expect([...seenIn('@handover/runtime')]).toEqual([]);
  expect(existsSync(join(at('@handover/runtime'), 'THIRD-PARTY-LICENSES.txt'))).toBe(false);
});

test('the list names exactly the packages inside the command', () => {
  const listed = sbomOf('handover').components.map(({ name }) => name);
  expect(listed).toEqual([...new Set([...seenIn('handover'), ...inPage])].sort());
  expect(listed).toEqual(
    expect.arrayContaining(['commander', 'pino', 'prom-client', 'undici', 'yaml', 'zod']),
  );
});

test('each package has the version, hash and licence of the lock', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { version: string; integrity: string; license: string }>>;
  };
  const { components } = sbomOf('handover');
  for (const { name, version, licenses, hashes, purl } of components) {
    const locked = Object.entries(packages).filter(
      ([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version === version,
    );
    expect(locked.length, `${name} ${version}`).toBeGreaterThan(0);
    expect(locked.map(([, { integrity }]) => integrity)).toContain(
      `sha512-${Buffer.from(hashes?.[0]?.content ?? '', 'hex').toString('base64')}`,
    );
    expect(licenses[0]?.license.id).toBe(locked[0]?.[1].license);
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
  }
  console.log(
    components
      .map(({ name, version, licenses }) => `${name} ${version} ${licenses[0]?.license.id}`)
      .join('\n'),
  );
});

test('every licence requires attribution only, and its text is included', () => {
  const { components } = sbomOf('handover');
  const allowed = ['Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];
  const texts = readFileSync(join(at('handover'), 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const { name, version, licenses } of components) {
    const id = licenses[0]?.license.id ?? '';
    expect(allowed).toContain(id);
    expect(texts).toContain(`${name} ${version} (${id})\n\n`);
  }
  expect(texts).not.toContain('carries no text');
});

test.each(['@handover/runtime', 'handover'])(
  'the list of %s is CycloneDX in which every reference leads somewhere',
  (name) => {
    const { bomFormat, specVersion, metadata, components, dependencies } = sbomOf(name);
    expect({ bomFormat, specVersion }).toEqual({ bomFormat: 'CycloneDX', specVersion: '1.5' });
    const refs = [metadata.component, ...components].map(({ purl }) => purl);
    expect(dependencies.map(({ ref }) => ref)).toEqual(refs);
    for (const { dependsOn } of dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
    const reached = new Set(dependencies.flatMap(({ dependsOn }) => dependsOn));
    expect(components.filter(({ purl }) => !reached.has(purl))).toEqual([]);
  },
);
