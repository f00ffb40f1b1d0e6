export { act } from './act.ts';
export { formatAuthority, parseAuthority } from './authority-file.ts';
export {
  authorityRef,
  type Catalogue,
  catalogueOf,
  idOf,
  type Labels,
  liesElsewhere,
  ownBundleOf,
  ownLabels,
  profileObjectOf,
  type Surroundings,
  secretOf,
  selects,
  type Target,
  targetsOf,
} from './catalogue.ts';
export { advance, type CertgenOptions, type CertgenResult, certgen, takingOver } from './certgen.ts';
export { ADOPT, consentIn } from './consent.ts';
export { Contention } from './contention.ts';
export { processHere } from './directory/asker.ts';
export { type ClockReport, clockReport, confirmClock } from './directory/confirm-clock.ts';
export { diskFiles, type FileFacts, type Files, type Ownership } from './directory/files.ts';
export { DirectoryHome, type DirectoryOptions } from './directory/home.ts';
export { ROTATION_ID } from './directory/requests.ts';
export { readResources, readYaml } from './directory/resources.ts';
export { type Listener, passOnce, type RunEvent, runDirectory, work, workOf } from './directory/run.ts';
export { SteadyClock } from './directory/steady-clock.ts';
export { Canaries, type CanaryTools } from './evidence/canary.ts';
export { DeclaredConsumers } from './evidence/consumers.ts';
export { handshake } from './evidence/handshake.ts';
export { answerOf, type ProbeTools, probe } from './evidence/probe.ts';
export { askStatus, readDocument, STATUS_PATH } from './evidence/status-document.ts';
export type { Endpoint, Locator, Whereabouts } from './evidence/whereabouts.ts';
export { FirstSight } from './first-sight.ts';
export { localIssuer } from './issuer.ts';
export { keyMaker } from './key-maker.ts';
export type { Asked, Known } from './ledger/asker.ts';
export type { HistoryStep } from './ledger/history.ts';
export type { HistoryStatus } from './ledger/history-status.ts';
export type { Asker, IssuanceLog, IssuedEntry } from './ledger/issued-entry.ts';
export type { Ledger } from './ledger/ledger.ts';
export { MemoryAuthorities, MemoryObjects } from './memory-home.ts';
export {
  type Answered,
  type Meters,
  NO_METERS,
  type Question,
  type Telling,
  type TellResult,
} from './meters.ts';
export { isDate, isObjectRecord } from './object-record.ts';
export { inParallel, observe, type Sight } from './observe.ts';
export { filesUnder, PLATFORM_KEYS } from './part-files.ts';
export {
  environmentOf,
  keepPlatformFacts,
  PLATFORM_LABEL,
  type PlatformFacts,
  platformObjectIn,
  toldOfPlatform,
} from './platform.ts';
export { authorityIn, type Duties, type Extras, policyFor, specOf } from './policy-for.ts';
export type {
  AuthorityId,
  AuthorityReader,
  AuthorityRecord,
  AuthorityStore,
  CachedView,
  Clock,
  ClusterProfile,
  ConsumerFound,
  Contents,
  Credential,
  EvidenceSource,
  Home,
  HomeFacts,
  Issuer,
  ObjectId,
  ObjectReader,
  ObjectRecord,
  ObjectWriter,
  ProfilePlatform,
  ReloadHooks,
  RequestSource,
  ResourceReader,
  Rollouts,
  StoredObject,
  Told,
} from './ports.ts';
export { type EnvoyGatewayOptions, envoyGateway, type Preset, type RandomSecret } from './preset.ts';
export {
  keepProfile,
  localTlsSupport,
  type ProfileOutcome,
  reconcileProfile,
  resolveProfile,
} from './profile.ts';
export { readBounded } from './read-bounded.ts';
export { notReadyIn } from './readiness.ts';
export { converge, isConflict, type Outcome, type Planner, reconcile } from './reconcile.ts';
export { remarksOn } from './remarks.ts';
export { repair } from './repair.ts';
export { claimOf, type Seal, SealKey, sealed, sealIn } from './seal.ts';
export {
  type BoundedOptions,
  type BoundedServer,
  MOST_CONNECTIONS,
  NO_SUCH_PAGE,
  type PageAnswer,
  serveBounded,
} from './serving/bounded-server.ts';
export { hostIn } from './serving/hosts.ts';
export { isStatic, reconcileStaticBundle } from './static-bundle.ts';
export {
  type AuthorityStatus,
  authorityStatus,
  type ConsumerStatus,
  type LeafStatus,
  restOfStatus,
  type Status,
  statusOf,
} from './status.ts';
export { bundleKeyOf, digestOf, readableCertificates, readableLeaf } from './stored-object.ts';
export { isAtRest, throughCache } from './through-cache.ts';
export { checkTls, type TlsCheck } from './tls-check/check.ts';
export type { Finding, TlsYardstick } from './tls-check/judge.ts';
export { OFFERABLE } from './tls-check/names.ts';
export type { StartTls, TlsTarget } from './tls-check/offer.ts';
export { FAILS_NEXT, FAILS_NOW, type Pair, type TrustColumn } from './trust-matrix.ts';
export { type Places, Turns } from './turns.ts';
export {
  type Answer,
  answer,
  certificatesKey,
  dryRun,
  type Material,
  materialIn,
  materialOf,
  type TrustMatrix,
  type Verdicts,
  verifyAuthority,
} from './verify.ts';
export { type Validity, type Vitals, vitalsOf } from './vitals.ts';
export { WatchedClock } from './watched-clock.ts';
export { type QueueOptions, WorkQueue } from './work-queue.ts';
