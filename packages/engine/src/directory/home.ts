import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { KeySource, Leaf, Resource } from '@handover/core';
import { type Clock, duration, instant } from '@handover/material';
import { issuerWith } from '../act/issuer.ts';
import { keyMaker } from '../act/key-maker.ts';
import { takingOver } from '../certgen/certgen.ts';
import { EngineError } from '../error.ts';
import { Canaries } from '../evidence/canary.ts';
import { DeclaredConsumers } from '../evidence/consumers.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Catalogue, catalogueOf, secretOf } from '../snapshot/catalogue.ts';
import { consentIn } from '../snapshot/consent.ts';
import { EarlierLeaves } from '../snapshot/earlier-leaves.ts';
import type { Home, ObjectId, Rollouts } from '../snapshot/home.ts';
import { type Hook, hooksIn, hooksOf } from '../snapshot/hooks.ts';
import type { Issuer, Keyring } from '../snapshot/keyring.ts';
import { localKeyring } from '../snapshot/local-key.ts';
import { type Meters, NO_METERS } from '../snapshot/meters.ts';
import { OutputPreparer } from '../snapshot/outputs.ts';
import type { RunReport } from '../snapshot/run-report.ts';
import {
  type EvidenceSource,
  type HomeClock,
  type Readers,
  readSnapshot,
  type Snapshot,
} from '../snapshot/snapshot.ts';
import { accountNumber } from './disk/accounts.ts';
import { diskFiles, type Files, type Ownership } from './disk/files.ts';
import { refuseUntrustedHome } from './disk/permissions.ts';
import { untrustedFiles } from './disk/subprocess-reader.ts';
import { trustedPath } from './disk/trusted-path.ts';
import type { UntrustedFiles } from './disk/untrusted-files.ts';
import { HookRecords } from './hooks/hook-records.ts';
import { HookRequests } from './hooks/hook-requests.ts';
import type { HookTimes } from './hooks/hook-ways.ts';
import { DirectoryHooks } from './hooks/hooks.ts';
import { probeCommand } from './hooks/probe-commands.ts';
import { ProcessGroups } from './hooks/process-group.ts';
import { restartRollouts, withRestarts } from './hooks/restarts.ts';
import { CopyNotes } from './objects/copy-notes.ts';
import { DirectoryObjects } from './objects/objects.ts';
import { copiesIn, outputsIn } from './objects/output-files.ts';
import { DirectoryAcks, withAcks } from './requests/acks.ts';
import { DirectoryRequests, processHere } from './requests/requests.ts';
import type { ResolveName } from './resources/addresses.ts';
import { type Declared, readDeclared, rememberDeclared } from './resources/declared.ts';
import { FilePasswords } from './resources/passwords.ts';
import { statedPlaces } from './resources/stated-places.ts';
import { DirectoryAuthorities } from './state/authorities.ts';
import { refuseClockBehind } from './state/clock-behind.ts';
import { DirectoryIssuanceLog } from './state/issuance-log.ts';
import {
  fenced,
  type HeldLock,
  type LockOptions,
  type LockTimes,
  lastTouched,
  lockHolder,
  takeLock,
} from './state/lock.ts';
import { RunRecord, readRunRecord } from './state/run-record.ts';
import { SeenConsumers } from './state/seen-consumers.ts';
import { SteadyClock } from './state/steady-clock.ts';

export interface DirectoryOptions {
  /** Waits and deadlines go by it. Deadlines of child processes are real time. */
  readonly timers: Clock;
  readonly files?: Files;
  readonly far?: UntrustedFiles;
  /** What certificates are dated by. Default: the wall clock of `timers`, compared with the time since boot. */
  readonly clock?: HomeClock;
  readonly keys?: KeySource;
  readonly evidence?: EvidenceSource;
  /** How long hooks may take. */
  readonly hookTimes?: HookTimes | undefined;
  /** Without the lock nothing is issued, not even a canary. Default: false. */
  readonly readsUntilLocked?: boolean | undefined;
  readonly trustNamespace?: string;
  /** Default: the resolver of this machine. */
  readonly resolveName?: ResolveName;
  readonly meters?: Meters | undefined;
  /** The user we run as; undefined: owners of files are not looked at. */
  readonly uid?: number | undefined;
  /** When the lock is shown to be held, and when that of another is believed to be left behind. */
  readonly lock?: LockTimes | undefined;
}

/** A directory as a home: YAML in it, `out/` for every program, `state/` for this one alone. */
export class DirectoryHome implements Home {
  readonly path: string;
  readonly files: Files;
  readonly far: UntrustedFiles;
  readonly objects: DirectoryObjects;
  readonly authorities: DirectoryAuthorities;
  readonly requests: DirectoryRequests;
  readonly acks: DirectoryAcks;
  readonly hooks: DirectoryHooks;
  readonly teller: DirectoryHooks;
  readonly hookRecords: HookRecords;
  readonly hookRequests: HookRequests;
  readonly runRecord: RunRecord;
  readonly seenConsumers: SeenConsumers;
  readonly rollouts: Rollouts;
  readonly clock: HomeClock;
  readonly timers: Clock;
  readonly keyring: Keyring;
  readonly issuer: Issuer;
  readonly random = (bytes: number): Uint8Array => randomBytes(bytes);
  readonly meters: Meters;
  readonly ledger: Ledger;
  readonly #readers: Readers;
  readonly #notes: CopyNotes;
  readonly #uid: number | undefined;
  readonly #lock: LockOptions;
  #held: HeldLock | undefined;
  #lastDeclared: Declared | undefined;
  #catalogue: Catalogue | undefined;
  #consent: ReadonlySet<ObjectId> = new Set();
  #ownership: ReadonlyMap<ObjectId, Leaf['spec']['files']> = new Map();
  #outputs: ReturnType<typeof outputsIn> = new Map();

  constructor(path: string, options: DirectoryOptions) {
    this.path = resolve(path);
    this.files = options.files ?? diskFiles;
    const { timers } = options;
    this.timers = timers;
    this.clock = options.clock ?? new SteadyClock(this.files, this.state, () => timers.now());
    const { keys = keyMaker(), meters = NO_METERS } = options;
    this.keyring = localKeyring(keys);
    this.issuer = issuerWith(keys, this.random);
    this.meters = meters;
    const log = new DirectoryIssuanceLog(this.files, `${this.state}/log`);
    const canaries = new Canaries({
      keyring: this.keyring,
      keys,
      random: this.random,
      log,
      ...(options.readsUntilLocked === true ? { mayIssue: () => this.#held !== undefined } : {}),
    });
    this.#uid = 'uid' in options ? options.uid : process.getuid?.();
    this.#lock = { files: this.files, directory: this.state, clock: timers, times: options.lock };
    this.far = options.far ?? untrustedFiles(this.files, timers);
    const files = fenced(this.files, () => this.checkLock());
    this.#notes = new CopyNotes(files, `${this.state}/copies`);
    this.objects = new DirectoryObjects({
      files,
      root: this.out,
      now: () => this.clock.now(),
      monotonic: () => timers.monotonic(),
      uid: this.#uid,
      ownershipOf: (id) => this.#ownershipOf(id),
      mayAdopt: (id) => this.#consent.has(id),
      outputsOf: (id) => this.#outputs.get(id)?.map(({ name }) => name) ?? [],
      copiesOf: (id) =>
        copiesIn(this.#outputs.get(id) ?? [], this.path, (file, mode) => this.#numbered(file, mode)),
      notes: this.#notes,
    });
    this.authorities = new DirectoryAuthorities(files, `${this.state}/authorities`);
    this.requests = new DirectoryRequests(this.files, `${this.state}/requests`, this.clock);
    this.acks = new DirectoryAcks(this.files, `${this.state}/acks`, this.clock);
    this.ledger = {
      issued: (entry) => log.issued(entry),
      known: (asked) => this.requests.known(asked),
      self: processHere(),
    };
    this.hookRecords = new HookRecords(files, `${this.state}/reloads`);
    this.seenConsumers = new SeenConsumers(files, `${this.state}/seen`);
    this.runRecord = new RunRecord(files, this.state, () => this.clock.now(), timers);
    this.hookRequests = new HookRequests(this.files, `${this.state}/reload-requests`);
    const groups = new ProcessGroups();
    this.hooks = new DirectoryHooks({
      clock: timers,
      files,
      far: this.far,
      cwd: this.path,
      uid: this.#uid,
      groups,
      times: options.hookTimes,
      records: this.hookRecords,
      requests: this.hookRequests,
      out: this.out,
      now: () => this.clock.now(),
      meters,
    });
    this.teller = this.hooks;
    const restartHooks = (id: string): readonly Hook[] =>
      this.#catalogue === undefined ? [] : hooksOf(this.#catalogue, id);
    this.rollouts = restartRollouts(restartHooks, this.hookRecords, this.authorities);
    const declared =
      options.evidence ??
      new DeclaredConsumers(
        { clock: timers, meters, canaries },
        statedPlaces(
          this.files,
          this.far,
          this.path,
          this.#uid,
          (consumer, argv) => probeCommand({ files, cwd: this.path, uid: this.#uid, groups }, consumer, argv),
          options.resolveName,
        ),
        this.seenConsumers,
      );
    this.#readers = {
      objects: this.objects,
      authorities: this.authorities,
      requests: this.requests,
      evidence: new EarlierLeaves().of(
        withAcks(withRestarts(declared, restartHooks, this.hookRecords), this.acks),
      ),
      hooks: this.hookRecords,
      run: () => this.runReport(),
      outputs: new OutputPreparer(timers, new FilePasswords(this.far, this.path, this.#uid)),
      facts: {
        consumersFound: false,
        oneOwner: true,
        cacheLag: duration(0),
        trustNamespace: options.trustNamespace ?? 'default',
      },
      clock: this.clock,
    };
  }

  /** A look at the files, with the resources that were loaded last. */
  readonly fresh = (): Promise<Snapshot> => readSnapshot(this.#readers, () => this.#catalogue ?? this.load());

  /** The hooks that the resources declare. */
  declaredHooks(): readonly Hook[] {
    return hooksIn(this.#catalogue ?? this.load());
  }

  /** Files of other programs that lay where files of this object were written: "PATH is kept as PATH". Told once. */
  replacedFor(id: ObjectId): readonly string[] {
    return this.#notes.takeKept(
      (this.#outputs.get(id) ?? []).flatMap(({ file }) =>
        file === undefined ? [] : [resolve(this.path, file.path)],
      ),
    );
  }

  get out(): string {
    return `${this.path}/out`;
  }

  get state(): string {
    return `${this.path}/state`;
  }

  #ownershipOf(id: ObjectId): Ownership {
    const asked = this.#ownership.get(id);
    if (asked === undefined) return { mode: 0o600 };
    return this.#numbered(asked, asked.mode);
  }

  #numbered(asked: { owner?: string | undefined; group?: string | undefined }, mode: string): Ownership {
    const { owner, group } = asked;
    return {
      mode: Number.parseInt(mode, 8),
      ...(owner === undefined ? {} : { uid: accountNumber(this.files, 'user', owner) }),
      ...(group === undefined ? {} : { gid: accountNumber(this.files, 'group', group) }),
    };
  }

  /** The resources of `DIR/*.yaml`, or those given. */
  load(given?: readonly Resource[], { takesOver = false }: { readonly takesOver?: boolean } = {}): Catalogue {
    const declared = given === undefined ? this.#declared() : undefined;
    const resources = given ?? declared?.resources ?? [];
    const catalogue: Catalogue = {
      ...catalogueOf(takesOver ? takingOver(resources) : resources),
      ...(declared === undefined ? {} : { frozen: declared.frozen, unknown: declared.unknown }),
    };
    this.#lastDeclared = declared;
    this.#catalogue = catalogue;
    this.#consent = consentIn(catalogue);
    this.#ownership = new Map(catalogue.leaves.map((leaf) => [secretOf(leaf), leaf.spec.files]));
    this.#outputs = outputsIn(catalogue, this.path);
    return catalogue;
  }

  /** Remembers the resources that were loaded, for the day on which one of the files is wrong. Needs the lock. */
  async rememberDeclared(): Promise<void> {
    if (this.#lastDeclared !== undefined) await rememberDeclared(this.files, this.path, this.#lastDeclared);
  }

  #declared(): Declared {
    this.check();
    const declared = readDeclared(this.files, this.path);
    if (declared.resources.length > 0) return declared;
    throw new EngineError(
      'HOME_EMPTY',
      `${this.path} declares nothing in *.yaml; start with handover init ${this.path}, or name what handover certgen made there by the same --preset or -f`,
      { path: this.path },
    );
  }

  /** Makes the directory itself, where others cannot put another in its place. */
  async make(): Promise<void> {
    trustedPath(this.files, this.path, this.#uid);
    await this.files.makeDirectory(this.path, 0o755);
    this.check();
  }

  /** Refuses a directory that is not there, or that another user could change. */
  check(): void {
    refuseUntrustedHome(this.files, this.path, this.#uid);
  }

  /** Makes a Secret of random bytes if there is none. True when it was made. */
  async makeRandomSecret(id: ObjectId, key: string, bytes: number): Promise<boolean> {
    if ((await this.objects.read(id)) !== undefined) return false;
    const data = { [key]: this.random(bytes) };
    await this.objects.write(id, undefined, (at) => ({
      data,
      record: { digest: '', revisions: {}, anchors: [], changedAt: at, type: 'Opaque' },
    }));
    return true;
  }

  /** Whether a process works here, when one did last, and what fails. */
  runReport(): RunReport {
    const holder = this.holder();
    const recorded = readRunRecord(this.files, this.state);
    const touched = holder === undefined ? lastTouched(this.#lock) : undefined;
    const lastAt = Math.max(recorded?.at ?? Number.NEGATIVE_INFINITY, touched ?? Number.NEGATIVE_INFINITY);
    return {
      pid: holder?.stays === true ? holder.pid : undefined,
      lastAt: Number.isFinite(lastAt) ? instant(lastAt) : undefined,
      problems: recorded?.problems ?? [],
    };
  }

  /** The process that holds the lock now. */
  holder(): ReturnType<typeof lockHolder> {
    return lockHolder(this.#lock);
  }

  /** Makes the directories, takes the lock, and clears away what a killed process left. `stays`: it is held until the process is stopped. */
  async lock(stays = false): Promise<{ release(): Promise<void> }> {
    this.check();
    await this.files.makeDirectory(this.state, 0o700);
    await this.files.makeDirectory(this.out, 0o755);
    const lock = await takeLock(this.#lock, stays);
    this.#held = lock;
    try {
      await this.authorities.sweep();
      await this.objects.sweep();
      if (this.clock instanceof SteadyClock) await this.clock.save();
    } catch (error) {
      await this.#release(lock);
      throw error;
    }
    return {
      release: async () => {
        // Their results are written under the lock.
        await this.hooks.idle();
        await this.objects.idle();
        await this.runRecord.save();
        await this.#release(lock);
      },
    };
  }

  async #release(lock: HeldLock): Promise<void> {
    this.#held = undefined;
    await lock.release();
  }

  /** Throws when the lock was taken here and is another's by now. */
  checkLock(): void {
    this.#held?.check();
  }

  /** A clock that is behind what was written here would make certificates that are not yet valid, or end them early. */
  async checkClock(ids: Iterable<string>): Promise<void> {
    for (const id of ids) refuseClockBehind(this.clock.now(), id, await this.authorities.load(id), this.path);
  }
}
