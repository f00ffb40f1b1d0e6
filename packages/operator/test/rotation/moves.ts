import type { AuthorityState } from '@handover/core';
import { parseAuthority } from '@handover/engine';
import { Informer, type Kube, type KubeObject, type Secret, secrets } from '@handover/kube';
import { AUTHORITY, NAMESPACE } from './mesh.ts';

const RANK = { next: 0, current: 1, previous: 2, retained: 3, distrusted: 4 } as const;

const stateIn = ({ data, metadata }: Secret): AuthorityState =>
  parseAuthority(
    AUTHORITY,
    Buffer.from(data?.['authority.json'] ?? '', 'base64').toString('utf8'),
    metadata.name ?? '',
  ).state;

const revisionIn = ({ metadata }: KubeObject): number => {
  const text = metadata.annotations?.['handover.dev/record'] ?? '{}';
  const { parts = {} } = JSON.parse(text) as {
    parts?: Record<string, { record: { revisions: Record<string, number> } }>;
  };
  return parts['']?.record.revisions[AUTHORITY] ?? 0;
};

/** Watches the authority and its Secrets independently, and notes every step backwards. */
export class Moves {
  readonly backwards: string[] = [];
  readonly states: AuthorityState[] = [];
  readonly #state: Informer<Secret>;
  readonly #leaves: Informer<Secret>;
  #gone: readonly number[] = [];

  constructor(kube: Kube) {
    const labelSelector = 'handover.dev/authority-state=true';
    this.#state = new Informer(kube, secrets, { namespace: 'handover-system', labelSelector });
    this.#state.on('changed', ({ after }) => {
      if (after === undefined) this.backwards.push('the authority has gone');
      else this.#moved(this.states.at(-1), stateIn(after));
    });
    this.#leaves = new Informer(kube, secrets, {
      namespace: NAMESPACE,
      labelSelector: 'app.kubernetes.io/managed-by=handover',
    });
    this.#leaves.on('changed', ({ key, before, after }) => {
      const [was, is] = [before, after].map((one) => (one === undefined ? 0 : revisionIn(one)));
      if (is === undefined || was === undefined || is < was)
        this.backwards.push(`${key}: from revision ${was} to ${is}`);
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#state.start(signal).ready, this.#leaves.start(signal).ready]);
  }

  #moved(was: AuthorityState | undefined, is: AuthorityState): void {
    this.states.push(is);
    const complain = (why: string): unknown => this.backwards.push(`revision ${is.revision}: ${why}`);
    const roles = is.generations.map(({ role }) => role);
    // One at a time: a rotation starts only when the previous one has ended completely.
    for (const role of ['next', 'current', 'previous'] as const)
      if (roles.filter((one) => one === role).length > 1) complain(`two generations are ${role}`);
    if (roles.includes('next') && roles.filter((role) => role !== 'retained').length > 2)
      complain('a rotation began before another had ended');
    if (new Set(is.ids).size !== is.ids.length) complain('an id rotated twice');
    if (was === undefined) return;
    if (is.revision <= was.revision) complain(`came after ${was.revision}`);
    if (is.lastGeneration < was.lastGeneration) complain('generations are counted anew');
    if (was.ids.some((id, at) => is.ids[at] !== id)) complain('an id was forgotten');
    for (const { number, role } of is.generations) {
      if (this.#gone.includes(number)) complain(`generation ${number} is back`);
      const before = was.generations.find((generation) => generation.number === number)?.role;
      if (before !== undefined && RANK[role] < RANK[before])
        complain(`generation ${number} was ${before} and is ${role}`);
    }
    const left = was.generations.filter(({ number }) => is.generations.every((one) => one.number !== number));
    this.#gone = [...this.#gone, ...left.map(({ number }) => number)];
  }

  get state(): AuthorityState {
    const state = this.states.at(-1);
    if (state === undefined) throw new Error('no authority has been seen yet');
    return state;
  }

  /** Every rotation with one of these ids has ended, including everything derived from it. */
  isOver(...ids: readonly string[]): boolean {
    const { generations, revision, ids: done } = this.state;
    return (
      ids.every((id) => done.includes(id)) &&
      generations.length === 1 &&
      this.#leaves.list().every((leaf) => revisionIn(leaf) === revision)
    );
  }
}
