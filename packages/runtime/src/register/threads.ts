import { BroadcastChannel, threadId, type Worker } from 'node:worker_threads';
import { type Clock, instant } from '@handover/material';
import { distinct } from '../status/document.ts';
import { ageOf, type Shown, type SourceStatus } from '../status/status.ts';
import { warn } from '../warn.ts';

/** Reaches every thread of this process, and no other process. */
const CHANNEL = 'handover-register';
const LOOK_MS = 1_000;
const WARN_MS = 10_000;

/** What a thread under `register` says of itself. */
interface ThreadReport {
  readonly thread: number;
  readonly sources: readonly SourceStatus[];
  /** Threads that it has started and that run. */
  readonly started: readonly number[];
}

/** The threads that this thread has started and that run. Node's own thread for module hooks is none: no code of it makes connections. */
function startedHere(changed: (thread: number) => void): () => readonly number[] {
  const running = new Set<number>();
  process.on('worker', (worker: Worker) => {
    if (worker.constructor.name === 'InternalWorker') return;
    const thread = worker.threadId; // -1 after its end
    running.add(thread);
    worker.once('exit', () => {
      running.delete(thread);
      changed(thread);
    });
    changed(thread);
  });
  return () => [...running];
}

/** In a worker thread: tells the main thread what this one has loaded, now and at each change. */
export function reportThread(shown: Shown, clock: Clock): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.unref();
  let last = '';
  const report = () => {
    const said = { thread: threadId, sources: shown.statuses() ?? [], started: started() };
    const text = JSON.stringify(said, (key, value: unknown) => (key === 'age' ? undefined : value));
    if (text === last) return;
    last = text;
    channel.postMessage(said satisfies ThreadReport);
  };
  const started = startedHere(report);
  shown.onChange(report);
  clock.every(LOOK_MS, report).unref(); // no event tells that a failure has cleared
  report();
}

/** Any code of this process can write on the channel, another version of this package too: what is no report counts for nothing. */
const reportIn = (data: unknown): ThreadReport | undefined => {
  const { thread, sources, started } = (data ?? {}) as Partial<Record<keyof ThreadReport, unknown>>;
  const isWhole =
    typeof thread === 'number' &&
    Array.isArray(sources) &&
    Array.isArray(started) &&
    started.every((one) => typeof one === 'number');
  return isWhole ? (data as ThreadReport) : undefined;
};

/** In the main thread: what the threads of this process have loaded. */
export class Threads {
  readonly #started = startedHere((thread) => this.#seen(thread));
  readonly #heard = new Map<number, ThreadReport>();
  readonly #known = new Set<number>();
  readonly #clock: Clock;
  #changed: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = (message: unknown) => {
      const report = reportIn((message as { readonly data: unknown }).data);
      if (report === undefined) return;
      this.#heard.set(report.thread, report);
      for (const thread of report.started) this.#seen(thread);
      this.#changed();
    };
    channel.unref();
  }

  /** The sources of all threads; nothing while a thread runs that does not say what it has loaded. */
  beside(main: Shown): Shown {
    return {
      statuses: () => {
        const { reports, silent } = this.#running();
        const own = main.statuses();
        if (own === undefined || silent.length > 0) return undefined;
        const now = this.#clock.now();
        const others = reports.flatMap(({ sources }) => sources);
        return distinct([
          ...own,
          ...others.map((source) => ({ ...source, age: ageOf(instant(Date.parse(source.loadedAt)), now) })),
        ]);
      },
      onChange: (listener) => {
        main.onChange(listener);
        this.#changed = listener;
      },
    };
  }

  /** Every thread is started by another: by the main thread, or by one that reports it. */
  #running(): { readonly reports: readonly ThreadReport[]; readonly silent: readonly number[] } {
    const reports: ThreadReport[] = [];
    const silent: number[] = [];
    const running = new Set(this.#started());
    for (const thread of running) {
      const report = this.#heard.get(thread);
      if (report === undefined) silent.push(thread);
      else reports.push(report);
      for (const started of report?.started ?? []) running.add(started);
    }
    for (const ended of [this.#heard, this.#known])
      for (const thread of ended.keys()) if (!running.has(thread)) ended.delete(thread);
    return { reports, silent };
  }

  #seen(thread: number): void {
    this.#changed();
    if (this.#known.has(thread)) return;
    this.#known.add(thread);
    const check = () => {
      if (!this.#running().silent.includes(thread)) return;
      warn(
        'THREAD_NOT_COVERED',
        `worker thread ${thread} of process ${process.pid} runs without @handover/runtime/register, and rotations wait for this process; start it without execArgv and env of its own, or with process.execArgv and process.env in them`,
      );
    };
    this.#clock.after(WARN_MS, check).unref();
  }
}
