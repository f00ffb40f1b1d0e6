export { HandoverError, TLS_PROFILE_PATH } from '@handover/material';
export type { ContextOptions } from './clients/client-source.ts';
export type { HotDispatcherOptions } from './clients/dispatcher.ts';
export type { HotAgentOptions } from './clients/https-agent.ts';
export type { LiveTlsOptions } from './clients/tls-options.ts';
export type { ErrorCode } from './error-code.ts';
export type { FollowerEvents } from './files/follower-spec.ts';
export { type Identity, type IdentityFiles, openIdentity } from './identity.ts';
export type { FollowOptions, Wait } from './options.ts';
export type {
  CutEvent,
  CutReason,
  ExpiryEvent,
  KeptEvent,
  Outcome,
  Reason,
  ReloadedEvent,
  TokenReloadedEvent,
} from './outcome.ts';
export type { ServeOptions } from './servers/serve.ts';
export type { ProcessStatus, StatusDocument } from './status/document.ts';
export { statusMetrics } from './status/metrics.ts';
export { type StatusOptions, type StatusServer, serveStatus } from './status/server.ts';
export type { FailureStatus, LeafStatus, SourceStatus, StatusSource } from './status/status.ts';
export { openTlsProfile, type TlsProfile, type TlsProfileOptions } from './tls-profile.ts';
export { openToken, type Token, type TokenEvents } from './token.ts';
export type { Roots } from './trust.ts';
export { openTrust, type Trust, type TrustOptions } from './trust.ts';
