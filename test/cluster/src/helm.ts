import { findApart, type ProgramApart } from './apart.ts';
import type { Say } from './build.ts';

// Only the tests of the chart need it.
const HELM: ProgramApart = {
  name: 'helm',
  files: ['go.mod', 'go.sum'],
  path: 'helm.sh/helm/v3/cmd/helm',
  module: 'helm.sh/helm/v3',
  variables: (versionOf) => {
    // Without these helm assumes Kubernetes 1.20.
    const [, minor = ''] = versionOf('k8s.io/client-go').split('.');
    return {
      'helm.sh/helm/v3/internal/version.version': versionOf('helm.sh/helm/v3'),
      'helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor': '1',
      'helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor': minor,
      'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor': '1',
      'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor': minor,
    };
  },
};

/** Path of helm at its pinned version, built once. */
export const findHelm = (say: Say): Promise<string> => findApart(HELM, say);
