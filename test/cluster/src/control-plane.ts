import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiServer, ClusterOptions } from './api.ts';
import { apiServer, controllerManager, etcd, type Layout, scheduler } from './components.ts';
import type { Keeper } from './keeper-client.ts';
import type { ProcessSpec } from './keeper-protocol.ts';
import { type CertificateFiles, writeWhole } from './pki.ts';
import { isThere, until } from './ready.ts';

export interface ControlPlane {
  readonly apiServer: ApiServer;
  readonly auditLog: string;
  start(): Promise<void>;
}

export interface ControlPlaneInput {
  readonly keeper: Keeper;
  readonly layout: Layout;
  /** The API server's address for this process. */
  readonly url: string;
  readonly options: ClusterOptions;
  /** Puts a process into the cluster's network. */
  readonly placed: (spec: ProcessSpec) => ProcessSpec;
  /** Restarts the node's clients of the API server. */
  readonly restartNode?: () => Promise<void>;
}

const auditFlags = (directory: string, log: string, level: ClusterOptions['audit']): readonly string[] => {
  if (level === undefined) return [];
  const policy = join(directory, 'audit-policy.json');
  const rules = [{ level, omitStages: ['RequestReceived'] }];
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  // Blocking: an event is in the file before its request is answered, so that a test can read it immediately.
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking-strict'];
};

export function controlPlane(input: ControlPlaneInput): ControlPlane {
  const { keeper, layout, url, options, placed, restartNode = async () => undefined } = input;
  const { directory, credentials } = layout;
  const auditLog = join(directory, 'audit.log');
  let flags = options.apiServerFlags ?? [];
  let serving: CertificateFiles = credentials.serving;
  let servingCaPem = credentials.servingCa.pem;

  const launch = async (spec: ProcessSpec): Promise<void> => {
    await keeper.start(placed(spec));
  };
  const runs = (name: string) => (): boolean => keeper.pidOf(name) !== undefined;
  const isReady = async (): Promise<boolean> =>
    (await isThere(`${url}/readyz`, credentials.admin)) &&
    // A controller creates it a moment after the server is ready.
    (await isThere(`${url}/api/v1/namespaces/default`, credentials.admin));

  const startApiServer: ApiServer['start'] = async (given = {}) => {
    flags = given.flags ?? flags;
    serving = given.serving ?? serving;
    await launch(apiServer(layout, serving, [...auditFlags(directory, auditLog, options.audit), ...flags]));
    await until(isReady, { what: 'kube-apiserver ready', directory, stillRuns: runs('kube-apiserver') });
  };
  const stopApiServer: ApiServer['stop'] = (signal = 'SIGKILL') => keeper.stop('kube-apiserver', signal);

  const startControllers = async (): Promise<void> => {
    const withNode = options.size === 'node';
    if (options.controllerManager ?? withNode) {
      await launch(controllerManager(layout, options.controllerManagerFlags ?? []));
    }
    if (options.scheduler ?? withNode) await launch(scheduler(layout));
  };
  const accountsThere = (): Promise<boolean> =>
    isThere(`${url}/api/v1/namespaces/default/serviceaccounts/default`, credentials.admin);

  return {
    auditLog,
    apiServer: {
      get pid() {
        return keeper.pidOf('kube-apiserver');
      },
      stop: stopApiServer,
      start: startApiServer,
      restartWith: async (files) => {
        await stopApiServer();
        await startApiServer({ serving: files });
      },
      rotateServingCa: async ({ keepOld = false } = {}) => {
        const { ca, leaf } = credentials.nextServing();
        await stopApiServer();
        writeWhole(credentials.caFile, keepOld ? ca.pem + servingCaPem : ca.pem, 0o644);
        servingCaPem = ca.pem;
        await startApiServer({ serving: leaf });
        const restarted = ['kube-controller-manager', 'kube-scheduler'].filter((name) => runs(name)());
        await Promise.all(restarted.map((name) => keeper.stop(name, 'SIGKILL')));
        if (restarted.length > 0) await startControllers();
        await restartNode();
      },
    },
    start: async () => {
      await launch(etcd(layout));
      await startApiServer();
      await startControllers();
      if (runs('kube-controller-manager')()) {
        await until(accountsThere, {
          what: 'default ServiceAccount there',
          directory,
          stillRuns: runs('kube-controller-manager'),
        });
      }
    },
  };
}
