import type { Fate, Passed, Relay } from '../cluster/relay.ts';
import { NAMESPACE } from './mesh.ts';
import type { LogLine, RunningOperator } from './stage.ts';

const SWAPS = ['mint', 'activate', 'retire'] as const;
const PHASES = ['Stable', 'Introducing', 'Activating', 'Retiring'] as const;

/** Without fields of the API server: it writes there too, and a write that loses a race is not a moment to strike. */
const PATHS: readonly (readonly [method: string, path: RegExp, kind: 'swap' | 'write' | 'roll'])[] = [
  ['PUT', /^\/api\/v1\/namespaces\/handover-system\/secrets\/handover-authority-/, 'swap'],
  ['PATCH', new RegExp(`^/api/v1/namespaces/${NAMESPACE}/(secrets|configmaps)/[^/]+$`), 'write'],
  ['PATCH', new RegExp(`^/apis/apps/v1/namespaces/${NAMESPACE}/deployments/[^/]+$`), 'roll'],
];

const ACTIONS: Readonly<Record<string, string>> = {
  'write-bundle': 'write',
  'write-leaf': 'write',
  stamp: 'roll',
};

/**
 * Every moment to strike in one rotation. A swap is one write: before it lands, and after it landed but before its answer. For
 * the other steps: when the first write has landed and the rest are on their way, and when the operator's log says that it
 * acted.
 */
export const MOMENTS: readonly string[] = [
  ...SWAPS.flatMap((swap) => [`${swap} on its way`, `${swap} landed`]),
  ...['write in Introducing', 'write in Activating', 'roll in Activating', 'write in Retiring'].flatMap(
    (step) => [`${step} landed`, `${step} acted`],
  ),
];

/** What happens to which operator at a moment, and whether its pending writes land afterwards or are lost. */
export type Strike = (moment: string, by: string) => Promise<'goes on' | 'is lost'>;

interface Hold {
  readonly by: string;
  readonly over: Promise<void>;
  readonly release: () => void;
}

/** Sees every write of every operator on its way, and strikes at the requested moments. */
export class Strikes {
  readonly #wanted = new Set<string>();
  /** Where it struck, in order. */
  readonly struck: string[] = [];
  #strike: Strike = async () => 'goes on';
  /** Compare-and-swaps of this rotation that have landed. */
  #swaps = 0;
  /** The write after which it strikes. */
  #first: { readonly moment: string; readonly by: string; readonly path: string } | undefined;
  /** The operators whose writes are held. */
  #hold: Hold | undefined;

  constructor(relay: Relay) {
    relay.fate = (request) => this.#fate(request);
    relay.done = (passed) => this.#done(passed);
  }

  /** Starts striking, for one rotation. */
  plan(moments: readonly string[], strike: Strike): void {
    this.#wanted.clear();
    for (const moment of moments) this.#wanted.add(moment);
    this.struck.length = 0;
    this.#strike = strike;
    this.#swaps = 0;
    this.#first = undefined;
  }

  /** Reads an operator's log of its actions. */
  follow(name: string, operator: RunningOperator): void {
    let phase = '';
    operator.onLine((line: LogLine) => {
      if (line.event === 'acted') phase = line.phase ?? '';
      // It follows an `acted`, one for each action.
      const kind = line.event === 'decided' ? ACTIONS[String(line.action)] : undefined;
      if (kind !== undefined) this.#hit(`${kind} in ${phase} acted`, name);
    });
  }

  #stepOf({ method, path }: Pick<Passed, 'method' | 'path'>): string | undefined {
    const kind = PATHS.find(([verb, pattern]) => verb === method && pattern.test(path))?.[2];
    if (kind === undefined) return undefined;
    return kind === 'swap' ? SWAPS[this.#swaps] : `${kind} in ${PHASES[this.#swaps]}`;
  }

  #fate(request: { readonly method: string; readonly path: string; readonly by: string }): Fate {
    const step = this.#stepOf(request);
    if (step === undefined) return 'pass';
    if (this.#hold?.by === request.by) return { hold: this.#hold.over };
    if (this.#wanted.has(`${step} on its way`)) {
      const hold = this.#holdBack(request.by);
      this.#hit(`${step} on its way`, request.by);
      return { hold };
    }
    const moment = `${step} landed`;
    if (!this.#wanted.has(moment)) return 'pass';
    this.#first = { moment, by: request.by, path: request.path };
    void this.#holdBack(request.by);
    return 'pass';
  }

  #done(passed: Passed): 'pass' | 'drop' {
    const landed = passed.status < 300;
    const first = this.#first;
    const isFirst = first?.by === passed.by && first.path === passed.path && passed.method !== 'GET';
    if (landed && SWAPS.some((swap) => swap === this.#stepOf(passed))) this.#swaps++;
    if (!isFirst || first === undefined) return 'pass';
    this.#first = undefined;
    if (landed) {
      this.#hit(first.moment, first.by);
      return 'drop';
    }
    this.#hold?.release();
    this.#hold = undefined;
    return 'pass';
  }

  #holdBack(by: string): Promise<void> {
    if (this.#hold?.by === by) return this.#hold.over;
    let release = (): void => {};
    const over = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#hold = { by, over, release };
    return over;
  }

  #hit(moment: string, by: string): void {
    if (!this.#wanted.delete(moment)) return;
    this.struck.push(moment);
    void this.#holdBack(by);
    const hold = this.#hold;
    void this.#strike(moment, by).then((rest) => {
      if (rest === 'goes on') hold?.release();
      if (this.#hold === hold) this.#hold = undefined;
    });
  }
}
