import { findApart, type ProgramApart, versionApart } from './apart.ts';
import type { Say } from './build.ts';

// Only a benchmark needs it.
const CAINJECTOR: ProgramApart = {
  name: 'cainjector',
  files: ['go.mod', 'go.sum', 'main.go'],
  path: '.',
  module: 'github.com/cert-manager/cert-manager',
};

export const cainjectorVersion = (): string => versionApart(CAINJECTOR);

/** Path of cert-manager's cainjector at its pinned version, built once. */
export const findCainjector = (say: Say): Promise<string> => findApart(CAINJECTOR, say);
