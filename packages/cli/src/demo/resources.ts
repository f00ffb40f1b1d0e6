import type { Manner } from './service.ts';

export interface Member {
  readonly name: string;
  readonly manner: Manner;
  /** The evidence that it gives. */
  readonly shows: 'status' | 'probe' | 'nothing';
}

/** Some hot, some slow, one restart-only; some give evidence, one rests on its owner's word. */
export const MEMBERS: readonly Member[] = [
  { name: 'gateway', manner: { kind: 'hot' }, shows: 'status' },
  { name: 'catalog', manner: { kind: 'hot' }, shows: 'status' },
  { name: 'basket', manner: { kind: 'slow', ms: 1_500 }, shows: 'status' },
  { name: 'billing', manner: { kind: 'slow', ms: 3_000 }, shows: 'probe' },
  { name: 'orders', manner: { kind: 'slow', ms: 4_000 }, shows: 'nothing' },
  { name: 'ledger', manner: { kind: 'restart-only' }, shows: 'status' },
];

export const DEMO_AUTHORITY = 'demo/mesh';
/** More than the slowest service takes. */
const RELOAD_MS = 6_000;

/** The demo's YAML; before the services run there is nothing to ask, so the first pass has no consumers. */
export const demoYaml = (
  control: number,
  probes: ReadonlyMap<string, number> | undefined,
  pace: number,
): string => {
  const consumers =
    probes === undefined
      ? []
      : MEMBERS.map(({ name, manner, shows }) => {
          const base = `name: ${name}, presents: true, verifies: true, leaf: ${name}`;
          const reload = manner.kind === 'restart-only' ? ', reload: restart' : ', reload: hot';
          const how =
            shows === 'status'
              ? `, status: {url: "http://127.0.0.1:${control}/services/${name}"}`
              : shows === 'probe'
                ? `, probe: {address: "127.0.0.1:${probes.get(name) ?? 0}", mtls: true}`
                : '';
          return `    - {${base}${reload}${how}}`;
        });
  const leaves = MEMBERS.map(
    ({ name, manner }) => `---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: ${name}, namespace: demo}
spec:
  authority: mesh
  dnsNames: [${name}]
${manner.kind === 'restart-only' && probes !== undefined ? `  reload: {http: {url: "http://127.0.0.1:${control}/services/${name}/restart"}}\n` : ''}`,
  );
  return `apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh, namespace: demo}
spec:
  rotation: {reloadWithin: ${Math.round(RELOAD_MS * pace)}ms}
${consumers.length === 0 ? '' : `  consumers:\n${consumers.join('\n')}\n`}${leaves.join('')}`;
};
