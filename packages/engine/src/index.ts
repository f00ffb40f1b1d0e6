export { act } from './act/act.ts';
export { issuerWith } from './act/issuer.ts';
export { keyMaker } from './act/key-maker.ts';
export {
  factFiles,
  filesUnder,
  type PlatformFacts,
  platformObjectIn,
  toldOfPlatform,
  writePlatformFacts,
} from './act/platform.ts';
export { convergeProfile, localTlsSupport, type ProfileOutcome, reconcileProfile } from './act/profile.ts';
export { type ExternalLeaf, type ExternalRequest, signExternal } from './act/sign-external.ts';
export { isStatic, reconcileStaticBundle } from './act/static-bundle.ts';
export {
  advance,
  betweenRuns,
  type CertgenOptions,
  type CertgenResult,
  certgen,
  type Interrupted,
  type RotationAhead,
  takingOver,
} from './certgen/certgen.ts';
export { envoyGateway, type RandomSecret } from './certgen/preset.ts';
export { Controller, type Reconcilers, type Result } from './controller/controller.ts';
export { type ControllerEvent, eventsOf, type Listener } from './controller/event.ts';
export { type Key, keysOf, keyText, PLATFORM, RESOURCES, type ResourceKey } from './controller/key.ts';
export {
  type AuthorityOutcome,
  askAgainMs,
  converge,
  isAtRest,
  isConflict,
  type Planner,
  type Refused,
  reconcile,
} from './controller/reconcile.ts';
export { repair } from './controller/repair.ts';
export { adopt, handing, isAdopted } from './directory/adopt.ts';
export { type ClockReport, clockReport, confirmClock } from './directory/confirm-clock.ts';
export { diskFiles, type Files } from './directory/disk/files.ts';
export type { DirectoryOptions } from './directory/home.ts';
export { DirectoryHome } from './directory/home.ts';
export { refuseFailedHooks } from './directory/hook-report.ts';
export { refuseUnderHook } from './directory/requests/ack-hooks.ts';
export { ackTarget } from './directory/requests/acks.ts';
export { processHere } from './directory/requests/requests.ts';
export { readDirectoryResources, readYaml } from './directory/resources/resources.ts';
export { passOnce, refuseFrozen, runDirectory } from './directory/run.ts';
export { SteadyClock } from './directory/state/steady-clock.ts';
export type { EngineErrorCode } from './error.ts';
export { type Asking, askProcess, type ProcessShown, silent } from './evidence/ask.ts';
export { Canaries, type CanaryTools } from './evidence/canary.ts';
export { DeclaredConsumers } from './evidence/consumers.ts';
export { DOCUMENT_FIELDS, documentIn, type NeededBy } from './evidence/document-schema.ts';
export { handshake } from './evidence/handshake.ts';
export { METRICS_BOUNDS, METRICS_LABELS } from './evidence/metrics-page.ts';
export { type ProbeTools, probe } from './evidence/probe.ts';
export { type Issued, readDocument, UNKNOWN_ISSUER } from './evidence/read-document.ts';
export { FirstServed } from './evidence/served.ts';
export { startTls } from './evidence/start-tls.ts';
export { askMetrics, askStatus } from './evidence/status-document.ts';
export type { Endpoint, Locator, Whereabouts } from './evidence/whereabouts.ts';
export type { HistoryStep } from './ledger/history.ts';
export type { IssuanceLog, IssuedEntry } from './ledger/issued-entry.ts';
export { entryOf, objectOf } from './ledger/issued-entry.ts';
export type { Asked, Known, Ledger } from './ledger/ledger.ts';
export { adoptionFrom } from './observe/adoption.ts';
export { type Observation, observe, observeWithRetry } from './observe/observe.ts';
export { type JudgedServing, servingsIn } from './observe/servings.ts';
export type { LeafValidity, Vitals } from './observe/vitals.ts';
export { type Damage, damageIn, staticDamage } from './report/damage.ts';
export {
  aheadIn,
  findingOf,
  findingsIn,
  type HealthFinding,
  idleIn,
  otherHooksIn,
  runFindings,
  type Severity,
  type Thresholds,
} from './report/health.ts';
export { servingRemedy } from './report/servings.ts';
export { remarksOn } from './report/settings-without-effect.ts';
export {
  type AuthorityStanding,
  authorityStatus,
  dueIn,
  notReadyIn,
  restOfStatus,
  standingOf,
  statusOf,
} from './report/status.ts';
export type { AuthorityStatus, ConsumerStatus, ServingStatus, Status } from './report/status-types.ts';
export { type Stranded, strandedIn } from './report/stranded.ts';
export { FAILS_NEXT, FAILS_NOW } from './report/trust-matrix.ts';
export { unmetIn } from './report/unmet.ts';
export { type Surveyed, survey, unusableLine } from './report/unusable.ts';
export {
  answer,
  certificatesKey,
  dryRun,
  type Material,
  MemoryAuthorities,
  MemoryObjects,
  materialIn,
  type TrustMatrix,
  type Verdicts,
  verifyAuthority,
} from './report/verify.ts';
export { Contention } from './scheduling/contention.ts';
export { FairSemaphore, type Limits } from './scheduling/fair-semaphore.ts';
export { inParallel, tryAll } from './scheduling/in-parallel.ts';
export { WorkQueue } from './scheduling/work-queue.ts';
export {
  type BoundedServer,
  NO_SUCH_PAGE,
  type PageAnswer,
  serveBounded,
} from './serving/bounded-server.ts';
export { hostIn } from './serving/hosts.ts';
export { formatAuthority, parseAuthority } from './snapshot/authority-file.ts';
export {
  authorityRef,
  type Catalogue,
  catalogueOf,
  idOf,
  type Labels,
  leftOutAuthority,
  liesElsewhere,
  nameAlone,
  ownBundleOf,
  ownLabels,
  placedTargets,
  profileObjectOf,
  type Selector,
  type Surroundings,
  secretOf,
  selects,
  type Target,
  targetsOf,
  type Unusable,
} from './snapshot/catalogue.ts';
export { consentIn } from './snapshot/consent.ts';
export { CreationDates } from './snapshot/creation-dates.ts';
export { within } from './snapshot/deadlines.ts';
export { EarlierLeaves } from './snapshot/earlier-leaves.ts';
export type {
  AuthorityId,
  AuthorityRecord,
  AuthorityWriter,
  Contents,
  FileData,
  Home,
  ObjectId,
  ObjectRecord,
  ObjectWriter,
  ProfileWriter,
  ProgramTeller,
  Reissues,
  Request,
  RequestWriter,
  Rollouts,
  StoredObject,
} from './snapshot/home.ts';
export { type HookStatus, hookLine, hookStanding } from './snapshot/hook-status.ts';
export { type Hook, type HookRecord, hooksIn, restarts } from './snapshot/hooks.ts';
export type { IssuedLeaf, Issuer, KeyRef, Keyring, SigningCa } from './snapshot/keyring.ts';
export { LocalKey, localKeyring } from './snapshot/local-key.ts';
export { refusalOf, servesNamespace } from './snapshot/may-issue.ts';
export type { Meters } from './snapshot/meters.ts';
export { isDate, isObjectRecord } from './snapshot/object-record.ts';
export {
  type Output,
  OutputPreparer,
  outputsOfLeaf,
  outputsOfTarget,
  type PasswordReader,
} from './snapshot/outputs.ts';
export { readBounded } from './snapshot/read-bounded.ts';
export { authorityIn, policyFor, type Responsibilities, specOf } from './snapshot/responsibilities.ts';
export { checkRotationId } from './snapshot/rotation-id.ts';
export { claimOf, type Seal, SealKey, sealed, sealIn } from './snapshot/seal.ts';
export { extrasOf } from './snapshot/shared-bundles.ts';
export {
  type Adoption,
  type AuthorityReader,
  type ClusterProfile,
  type ConsumerFound,
  type EvidenceSource,
  type ExternallyHeldReader,
  type HomeClock,
  type HomeFacts,
  type IssuedLeaves,
  type ObjectReader,
  type ProfileReader,
  type Readers,
  type ReadSnapshot,
  type RecordedObject,
  type RequestReader,
  type Requests,
  readSnapshot,
  type Snapshot,
} from './snapshot/snapshot.ts';
export { bundleKeyOf, digestOf, filesFrom, pemFile, readableCertificates } from './snapshot/stored-object.ts';
export { unknownExternallyHeld } from './snapshot/unknown-externally-held.ts';
export { WatchedClock } from './snapshot/watched-clock.ts';
