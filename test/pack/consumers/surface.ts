// The whole surface of the runtime without optional peers, as a program uses it; compiled and never run. A line that must not compile
// shows that a type exists.
import { createServer } from 'node:https';
import {
  type ContextOptions,
  type CutEvent,
  type CutReason,
  type ErrorCode,
  type ExpiryEvent,
  type FailureStatus,
  type FollowerEvents,
  type FollowOptions,
  HandoverError,
  type HotAgentOptions,
  type HotDispatcherOptions,
  type Identity,
  type IdentityFiles,
  type KeptEvent,
  type LeafStatus,
  type LiveTlsOptions,
  type Outcome,
  openIdentity,
  openTlsProfile,
  openToken,
  openTrust,
  type ProcessStatus,
  type Reason,
  type ReloadedEvent,
  type Roots,
  type ServeOptions,
  type SourceStatus,
  type StatusDocument,
  type StatusOptions,
  type StatusServer,
  type StatusSource,
  serveStatus,
  statusMetrics,
  type TlsProfile,
  type TlsProfileOptions,
  type Token,
  type TokenEvents,
  type TokenReloadedEvent,
  type Trust,
  type TrustOptions,
  type Wait,
} from '@handover/runtime';
import {
  type HotKubeConfigOptions,
  hotKubeConfig,
  type InCluster,
  type InClusterOptions,
  inCluster,
  type KubeConfigLike,
} from '@handover/runtime/kubernetes';
import { isOpenShift } from '@handover/runtime/openshift';
import { openTestMesh, type TestMesh } from '@handover/runtime/testing';

export type Every = [
  ContextOptions,
  CutEvent,
  CutReason,
  ErrorCode,
  ExpiryEvent,
  FollowerEvents,
  ProcessStatus,
  Roots,
  TokenEvents,
  TokenReloadedEvent,
  Wait,
  FailureStatus,
  HotAgentOptions,
  HotDispatcherOptions,
  LeafStatus,
  LiveTlsOptions,
  SourceStatus,
  StatusDocument,
  StatusOptions,
  StatusSource,
  HotKubeConfigOptions,
  InClusterOptions,
  TlsProfileOptions,
  TrustOptions,
];

export async function follow(signal: AbortSignal, options: FollowOptions): Promise<void> {
  const trust: Trust = await openTrust('/etc/mesh/ca.crt', { signal });
  const texts: readonly string[] = [trust.pem, trust.hash];
  const at: number = trust.loadedAt;
  trust.secureContext().context;
  const { hash: seen }: SourceStatus = trust.status();
  const { reason }: Outcome = await trust.reload();
  const known: Reason | 'updated' | 'unchanged' = reason;
  trust.httpsAgent({ maxSockets: 50 }).destroy();
  trust.on('reloaded', ({ hash, loads }: ReloadedEvent) => `${hash} ${loads}`);
  trust.on('kept', ({ reason, error }: KeptEvent) => `${reason} ${error.message}`);
  // @ts-expect-error no error has this code
  const misspelt: ErrorCode = 'FILE_MISING';
  // @ts-expect-error there is no such event
  trust.on('lost', () => undefined);
  // @ts-expect-error there is no such property
  trust.nothing;
  const { ca } = trust.tlsOptions();
  const answer: Response = await trust.fetch('https://billing.mesh.svc/', { method: 'POST' });
  const asFetch: typeof fetch = trust.fetch;
  await asFetch(new Request('https://billing.mesh.svc/'));
  const files: IdentityFiles = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' };
  const identity: Identity = await openIdentity(files, options);
  const profile: TlsProfile = await openTlsProfile('profile.json', { lastKnownGood: 'copy.json' });
  const serving: ServeOptions = { profile, minVersion: 'TLSv1.2' };
  identity.serve(createServer(), serving).listen(8443);
  // @ts-expect-error a server, not its port
  identity.serve(8443);
  const token: Token = await openToken('token', { signal });
  token.once('reloaded', ({ loads }: TokenReloadedEvent) => loads.toFixed());
  // @ts-expect-error a token's event has no hash
  token.on('reloaded', ({ hash }) => hash);
  await openTrust(['ca.crt', 'system'], { waitFor: '30s' }).then((both) => both.close());
  const value: string = token.value();
  const { CA_FILE, DIRECTORY, POD_UID } = process.env; // each may be unset
  const status: StatusServer = await serveStatus({
    port: 8081,
    sources: [trust, identity],
    podUid: POD_UID,
    host: undefined,
  });
  await openIdentity(
    { cert: 'tls.crt', key: 'tls.key', ca: CA_FILE },
    { waitFor: undefined, signal: undefined },
  );
  await inCluster({ directory: DIRECTORY });
  const metrics: string = statusMetrics([trust, identity])();
  await status.close();
  const ready: boolean = profile.ready && isOpenShift();
  console.log(
    misspelt,
    texts,
    at,
    seen,
    known,
    ca,
    answer.status,
    profile.tlsOptions().minVersion,
    value,
    metrics,
    ready,
  );
}

export async function cluster(config: KubeConfigLike): Promise<string> {
  await hotKubeConfig(config);
  const inside: InCluster = await inCluster();
  // @ts-expect-error a path or a URL
  await inside.fetch(1);
  return inside.namespace;
}

export async function inMemory(): Promise<readonly [Identity, Trust]> {
  const mesh: TestMesh = await openTestMesh();
  await mesh.rotate();
  await mesh.spoil();
  mesh.close();
  // @ts-expect-error there is no such method
  mesh.nothing();
  return [mesh.identity, mesh.trust];
}

export const codes = (error: unknown): string | undefined =>
  error instanceof HandoverError ? error.code : undefined;
