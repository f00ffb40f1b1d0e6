import type { Cluster, NodeCluster } from '../../cluster/src/index.ts';
import { companyCa, gateway, openShift, packagingApi, theirSecret, webhook } from './scenery.ts';
import { withCertManager } from './with-cert-manager.ts';

/** What a document requires. */
export interface Stage {
  /** Default `empty`; `copy` is a copy of this repository, as a developer has. */
  readonly folder?: 'empty' | 'copy';
  readonly cluster?: 'control-plane' | 'node';
  readonly programs?: readonly ('nginx' | 'postgresql')[];
  /** The reader's own objects. */
  readonly before?: (cluster: Cluster | NodeCluster) => Promise<void>;
  /** Flags of the installed operator; undefined: none is installed, or the document starts it. */
  readonly operator?: string;
}

/** Documents that need more than an empty folder and Node. */
export const STAGES: Readonly<Record<string, Stage>> = {
  'README.md': { folder: 'copy' },
  'CONTRIBUTING.md': { folder: 'copy' },
  'docs/start.md': { cluster: 'node', programs: ['nginx'] },
  'docs/faq.md': { cluster: 'control-plane', operator: '' },
  'docs/recipes/own-webhook.md': { cluster: 'control-plane', before: webhook },
  'docs/recipes/aggregated-api.md': { cluster: 'control-plane', before: packagingApi, operator: '' },
  'docs/recipes/envoy-gateway.md': { cluster: 'control-plane', before: gateway },
  'docs/recipes/tls-profile.md': { cluster: 'control-plane', operator: '' },
  'docs/recipes/openshift.md': {
    cluster: 'control-plane',
    before: openShift,
    operator: '--compat service-ca --service-ca-authority handover-system/service-ca',
  },
  'docs/recipes/cert-manager.md': {
    cluster: 'node',
    programs: ['nginx'],
    before: withCertManager,
    operator: '',
  },
  'docs/recipes/cert-manager-migration.md': {
    cluster: 'control-plane',
    before: theirSecret,
    operator: '--compat cainjector',
  },
  'docs/recipes/trust-manager.md': {
    cluster: 'control-plane',
    before: companyCa,
    operator: '--compat trust-manager',
  },
  'docs/recipes/pod-certificates.md': { cluster: 'node', programs: ['nginx'], operator: '' },
  'docs/recipes/monitoring.md': { cluster: 'control-plane', operator: '' },
  // In a clone: these clients are not published.
  'docs/evidence.md': { folder: 'copy' },
  'docs/recipes/go.md': { folder: 'copy' },
  'docs/recipes/rust.md': { folder: 'copy' },
  'docs/recipes/python.md': { folder: 'copy' },
  'docs/recipes/java.md': { folder: 'copy' },
  'docs/recipes/nginx.md': { programs: ['nginx'] },
  'docs/recipes/served.md': { programs: ['nginx'] },
  'docs/recipes/other-programs.md': { programs: ['nginx'] },
  'docs/recipes/postgresql.md': { programs: ['postgresql'] },
};
