import { appendFileSync, readFileSync } from 'node:fs';

type Bounded = 'S0.2' | 'S0.3' | 'S0.5' | 'S0.9' | 'S1.1' | 'S2.1';

/** Time bounds of the scenarios. Tests assert `inTests`, so that a busy machine passes and a broken path fails; `npm run bench:scenarios` asserts `ms`. */
const BOUNDS = JSON.parse(
  readFileSync(new URL('../../../scripts/scenarios/bounds.json', import.meta.url), 'utf8'),
) as Readonly<Record<Bounded, { readonly ms: number; readonly inTests: number }>>;

/** Set by the bench: what was measured goes there, a line each, and is judged there. */
const { HANDOVER_SCENARIO_TIMES: RECORD } = process.env;

/** The longest time that tests allow. */
export const boundOf = (id: Bounded): number => BOUNDS[id].inTests;

/** Fails when what a scenario bounds took longer than tests allow. */
export const mustTakeAtMost = (id: Bounded, ms: number): void => {
  if (RECORD !== undefined) appendFileSync(RECORD, `${JSON.stringify({ id, ms })}\n`);
  if (!(ms < boundOf(id))) throw new Error(`${id} took ${Math.round(ms)} ms; tests allow ${boundOf(id)} ms`);
};
