import { API_VERSION, type Condition } from '@handover/core';
import type { Kube } from '@handover/kube';
import { printableIn } from '@handover/material';
import { isCode } from '../error.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { type Declared, RESOURCE_KINDS } from '../resources/declared.ts';
import type { AnyStatus } from './status.ts';

/** No object's status is written more often than this. */
const INTERVAL_MS = 2_000;
/** After failures in a row. */
const MOST_WAIT_MS = 60_000;

interface Pending {
  readonly declared: Declared;
  readonly status: AnyStatus;
}

/** Canonical text: keys that the API server sorts or drops are no change. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, item]) => item !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  );

const conditionsIn = (status: unknown): readonly Condition[] =>
  (status as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? [];

/** A condition's time is when its status last changed, as everywhere in Kubernetes. */
const withTimesOf = (before: unknown, status: AnyStatus): AnyStatus => ({
  ...status,
  conditions: conditionsIn(status).map((condition) => {
    const last = conditionsIn(before).find(({ type }) => type === condition.type);
    return last?.status === condition.status
      ? { ...condition, lastTransitionTime: last.lastTransitionTime }
      : condition;
  }),
});

/** Writes a status only when it differs, and each object's at most once in two seconds. The newest wins. */
export class StatusWriter {
  readonly #kube: Kube;
  readonly #signal: AbortSignal;
  readonly #onError: (what: string, error: unknown) => void;
  readonly #pending = new Map<string, Pending>();
  readonly #written = new Map<string, { readonly status: AnyStatus; readonly at: number }>();
  /** Writes in a row that failed, and when to try again: nothing else may call for the same status again. */
  readonly #failed = new Map<string, { readonly times: number; readonly until: number }>();
  #timer: { readonly due: number; readonly cancel: () => void } | undefined;
  /** The round of writes that is under way. */
  #busy: Promise<void> | undefined;

  constructor(kube: Kube, signal: AbortSignal, onError: (what: string, error: unknown) => void) {
    this.#kube = kube;
    this.#signal = signal;
    this.#onError = onError;
  }

  put(declared: Declared, now: AnyStatus): void {
    const { uid } = declared;
    // What was written last is newer than what the resource had when it was resolved.
    const known = this.#written.get(uid)?.status ?? declared.status ?? {};
    // People read it with kubectl, and others wrote parts of it.
    const status = printableIn(withTimesOf(known, now));
    if (textOf(status) === textOf(known)) this.#pending.delete(uid);
    else this.#pending.set(uid, { declared, status });
    // The timer may be that of a status whose writes fail: it delays no other.
    if (this.#timer !== undefined && this.#dueAt(uid) < this.#timer.due) {
      this.#timer.cancel();
      this.#timer = undefined;
    }
    this.#plan();
  }

  #plan(): void {
    if (this.#busy !== undefined || this.#timer !== undefined) return;
    if (this.#pending.size === 0 || this.#signal.aborted) return;
    const now = this.#kube.clock.monotonic();
    const due = Math.min(...[...this.#pending.keys()].map((uid) => this.#dueAt(uid)));
    const { cancel } = this.#kube.clock.after(due - now, () => {
      this.#timer = undefined;
      this.#busy = this.#flush().finally(() => {
        this.#busy = undefined;
        this.#plan();
      });
    });
    this.#timer = { due, cancel };
  }

  #dueAt(uid: string): number {
    const written = (this.#written.get(uid)?.at ?? Number.NEGATIVE_INFINITY) + INTERVAL_MS;
    return Math.max(written, this.#failed.get(uid)?.until ?? Number.NEGATIVE_INFINITY);
  }

  async #flush(): Promise<void> {
    for (const uid of [...this.#pending.keys()]) {
      if (this.#signal.aborted) return;
      // Meanwhile the status may have changed again, or back.
      const pending = this.#pending.get(uid);
      const at = this.#kube.clock.monotonic();
      if (pending === undefined || at < this.#dueAt(uid)) continue;
      const { declared, status } = pending;
      this.#pending.delete(uid);
      // From here on, so that the same status said during the write is not written again.
      this.#written.set(uid, { status, at });
      try {
        await this.#write(declared, status);
        this.#failed.delete(uid);
      } catch (error) {
        this.#written.delete(uid);
        // The resource has gone, or another replica leads.
        if (isCode(error, 'KUBE_NOT_FOUND') || this.#signal.aborted) {
          this.#failed.delete(uid);
          continue;
        }
        this.#onError(`writing the status of ${declared.kind} ${declared.name}`, error);
        this.#tryLater(pending);
      }
    }
  }

  #tryLater(pending: Pending): void {
    const { uid } = pending.declared;
    const times = (this.#failed.get(uid)?.times ?? 0) + 1;
    const wait = Math.min(INTERVAL_MS * 2 ** (times - 1), MOST_WAIT_MS);
    this.#failed.set(uid, { times, until: this.#kube.clock.monotonic() + wait });
    // What was said meanwhile is newer.
    if (!this.#pending.has(uid)) this.#pending.set(uid, pending);
  }

  async #write({ kind, namespace, name }: Declared, status: AnyStatus): Promise<void> {
    const resource = RESOURCE_KINDS[kind as keyof typeof RESOURCE_KINDS];
    await this.#kube.patch(
      resource,
      { name, subresource: 'status', ...(namespace === undefined ? {} : { namespace }) },
      {
        apply: {
          apiVersion: API_VERSION,
          kind,
          metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
          status,
        },
        fieldManager: FIELD_MANAGER,
        force: true,
        signal: this.#signal,
      },
    );
  }

  /** Waits for the write that is under way. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#busy;
  }
}
