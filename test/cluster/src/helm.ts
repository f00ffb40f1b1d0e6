import { findApart, type ProgramApart } from './apart.ts';
import type { Say } from './build.ts';

// Only the tests of the chart need it.
const HELM: ProgramApart = {
  name: 'helm',
  files: ['go.mod', 'go.sum'],
  path: 'helm.sh/helm/v3/cmd/helm',
  module: 'helm.sh/helm/v3',
  versionVariable: 'helm.sh/helm/v3/internal/version.version',
};

/** Path of helm at its pinned version, built once. */
export const findHelm = (say: Say): Promise<string> => findApart(HELM, say);
