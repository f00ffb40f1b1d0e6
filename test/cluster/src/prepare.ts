// First step of `npm run test:cluster`: builds binaries and packages, with progress, so that no test waits for them. With --all, also what
// other tiers build: the oldest release, helm, cert-manager's cainjector.
import { HandoverError } from '@handover/material';
import { findBinaries } from './binaries.ts';
import { findCainjector } from './cainjector.ts';
import { findHelm } from './helm.ts';
import { type Binary, NEEDED } from './pins.ts';
import { type Places, places, type Release } from './places.ts';
import { installPackages, noNodeBecause } from './system-packages.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Only the newest release is tried with a node: to build one takes as long as the control plane does. */
const further = (release: Release): readonly Binary[] =>
  release === 'newest' ? NEEDED.node : ['kube-controller-manager'];

const prepare = async (where: Places): Promise<void> => {
  const reason = noNodeBecause();
  if (reason === undefined) installPackages(say);
  else if (where.isCi) throw new HandoverError('CLUSTER_NO_NODE', `${reason}; CI runs every test`);
  else say(`tests of a whole node are skipped: ${reason}`);
  say(`binaries: ${await findBinaries(where, NEEDED['control-plane'], say)}`);
  if (reason === undefined) await findBinaries(where, further(where.release), say);
};

try {
  await prepare(places());
  if (process.argv.includes('--all')) {
    await findHelm(say);
    await prepare({ ...places(), release: 'oldest' });
    await findCainjector(say);
  }
} catch (error) {
  const told = error instanceof HandoverError ? `${error.code}: ${error.message}` : String(error);
  process.stderr.write(`${told}\n`);
  process.exitCode = 1;
}
