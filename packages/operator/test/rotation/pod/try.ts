import { handshake, type Target } from './handshake.ts';

// Handshakes with a foreign certificate, from inside the cluster's network.
const { targets, cert, key } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly targets: readonly Target[];
  readonly cert: string;
  readonly key: string;
};
const verdicts = [];
for (const target of targets)
  verdicts.push(await handshake(target, { cert, key, rejectUnauthorized: false }));
process.stdout.write(JSON.stringify(verdicts));
