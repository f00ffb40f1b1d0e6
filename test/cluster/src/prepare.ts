// First step of `npm run test:cluster`: builds binaries and packages, with progress, so that no test waits for them.
import { HandoverError } from '@handover/material';
import { findBinaries } from './binaries.ts';
import { NEEDED } from './pins.ts';
import { places } from './places.ts';
import { installPackages, noNodeBecause } from './system-packages.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const where = places();
try {
  const reason = noNodeBecause();
  if (reason === undefined) installPackages(say);
  else if (where.isCi) throw new HandoverError('CLUSTER_NO_NODE', `${reason}; CI runs every test`);
  else say(`tests of a whole node are skipped: ${reason}`);
  say(`binaries: ${await findBinaries(where, NEEDED['control-plane'], say)}`);
  if (reason === undefined) await findBinaries(where, NEEDED.node, say);
} catch (error) {
  const told = error instanceof HandoverError ? `${error.code}: ${error.message}` : String(error);
  process.stderr.write(`${told}\n`);
  process.exitCode = 1;
}
