/**
 * npm run bench -w packages/material [-- --write]
 *
 * A bundle of 150 certificates parsed, put in canonical order, written and hashed, against `new X509Certificate` on the same
 * 150, interleaved in one process. Exit 1 when the median takes more than 1.5 times as long. `--write` keeps the result.
 */
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import { rootCertificates } from 'node:tls';
import { instant, parseBundle, verifyChain } from '../src/index.ts';
import { authority, crossSign, leafOf, NOW } from '../test/mock-ca.ts';

const COUNT = 150;
const ROUNDS = 101;
const WARM_UP = 30;
const LIMIT = 1.5;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const timed = (action: () => unknown): number => {
  const start = performance.now();
  action();
  return performance.now() - start;
};

const own = Array.from({ length: COUNT }, (_, i) => authority(`mesh ${i + 1} 0011aabb`).certificate.pem);
const sets: readonly { readonly name: string; readonly pems: readonly string[] }[] = [
  { name: 'CAs as Handover makes them (P-256)', pems: own },
  {
    name: 'public roots, filled up to 150 with the former',
    pems: [...rootCertificates, ...own].slice(0, COUNT),
  },
];

let failed = false;
const rows: string[] = [];
for (const { name, pems } of sets) {
  const text = pems.join('\n');
  const native: number[] = [];
  const ours: number[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const a = timed(() => pems.map((pem) => new X509Certificate(pem)));
    const b = timed(() => {
      const { hash, pem, certificates } = parseBundle(text);
      if (certificates.length !== COUNT || hash === '' || pem === '')
        throw new Error('not the bundle that went in');
    });
    if (round >= 0) {
      native.push(a);
      ours.push(b);
    }
  }
  const ratio = median(ours) / median(native);
  failed ||= ratio > LIMIT;
  rows.push(
    `| ${name} | ${median(native).toFixed(2)} ms | ${median(ours).toFixed(2)} ms | ${ratio.toFixed(2)} |`,
  );
}

const old = authority('old');
const next = authority('next');
const chain = [leafOf(next, 'a').certificate, crossSign(next, old).certificate];
const anchors = [...parseBundle(own.join('')).certificates, old.certificate];
const verdicts: number[] = [];
for (let i = 0; i < 2_000; i++) {
  verdicts.push(timed(() => verifyChain({ chain, anchors, at: instant(NOW), purpose: 'server' })));
}
const verdict = (median(verdicts) * 1000).toFixed(1);

const machine = `Node ${process.version}, OpenSSL ${process.versions.openssl}, ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}`;
const report = `# Benchmarks: material

Command: \`npm run bench -w packages/material -- --write\`. ${machine}.

Bundle of ${COUNT}: parsed strictly, deduplicated, put in canonical order, written and hashed, against \`new X509Certificate\` on
each of the same ${COUNT}. ${ROUNDS} rounds, interleaved in one process; medians. Limit: ${LIMIT}.

| bundle | X509Certificate | material | ratio |
|---|---|---|---|
${rows.join('\n')}

A verdict on leaf + cross-certificate against ${COUNT + 1} anchors, signatures known from before: ${verdict} µs (median of 2,000).
`;
process.stdout.write(report);
if (process.argv.includes('--write')) {
  writeFileSync(new URL('../../../../../docs/benchmarks/material.md', import.meta.url), report);
}
if (failed) {
  process.stderr.write(`FAIL: more than ${LIMIT} times the time of X509Certificate\n`);
  process.exitCode = 1;
}
