import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { type Exploration, explore } from './explore.ts';
import type { PlannerUnderCheck } from './moves.ts';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import { Oracle } from './oracle.ts';
import { worlds } from './worlds.ts';

// Inside this package, so that the planner's imports resolve. It imports nothing outside its folder but packages.
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', 'mutants');

/** The real planner with one line changed: its build is copied, patched and loaded from there. */
export const mutate = async (mutant: Mutant, index: number): Promise<PlannerUnderCheck> => {
  const source = join(dirname(fileURLToPath(import.meta.resolve('@handover/core'))), 'plan');
  const folder = join(ROOT, `${process.pid}-${index}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(source, folder, { recursive: true });
  const file = join(folder, mutant.file);
  const text = readFileSync(file, 'utf8');
  const places = text.split(mutant.from).length - 1;
  if (places !== 1)
    throw new Error(`mutant "${mutant.name}" fits ${places} places of ${mutant.file}, not one`);
  writeFileSync(
    file,
    text.replace(mutant.from, () => mutant.to),
  );
  const loaded = (await import(pathToFileURL(join(folder, 'plan.js')).href)) as { plan: PlannerUnderCheck };
  rmSync(folder, { recursive: true, force: true });
  return loaded.plan;
};

// npm run modelcheck [-- PART-OF-A-WORLD'S-NAME]: every world of the design over the real planner, then every mutant.

type Job = { readonly kind: 'world' | 'mutant'; readonly index: number };
type Answer = { readonly job: Job; readonly found?: Exploration; readonly error?: string };

const check = async (job: Job, oracle: Oracle): Promise<Exploration> => {
  if (job.kind === 'world') {
    const world = worlds[job.index];
    if (world === undefined) throw new Error(`no world ${job.index}`);
    return explore(world, oracle);
  }
  const mutant = mutants[job.index];
  if (mutant === undefined) throw new Error(`no mutant ${job.index}`);
  const planner = await mutate(mutant, job.index);
  let states = 0;
  for (const name of mutant.worlds) {
    const world = worlds.find((candidate) => candidate.name === name);
    if (world === undefined) throw new Error(`mutant "${mutant.name}" names no world: ${name}`);
    const found = explore(world, oracle, planner);
    states += found.states;
    if (found.violation !== undefined) return { ...found, states };
  }
  return { world: mutant.worlds.join(', '), states, violation: undefined };
};

const work = (): void => {
  const oracle = new Oracle();
  parentPort?.on('message', (job: Job) => {
    check(job, oracle).then(
      (found) => parentPort?.postMessage({ job, found } satisfies Answer),
      (error: unknown) => parentPort?.postMessage({ job, error: String(error) } satisfies Answer),
    );
  });
};

/** Runs the jobs on one worker per core, and reports each result as it comes. */
const runAll = (jobs: readonly Job[], report: (answer: Answer) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const waiting = [...jobs];
    let busy = 0;
    const workers = Array.from({ length: Math.min(availableParallelism(), jobs.length) }, () => {
      const worker = new Worker(new URL(import.meta.url));
      const next = (): void => {
        const job = waiting.shift();
        if (job === undefined) {
          if (busy === 0) {
            for (const each of workers) void each.terminate();
            resolve();
          }
          return;
        }
        busy++;
        worker.postMessage(job);
      };
      worker.on('message', (answer: Answer) => {
        busy--;
        report(answer);
        next();
      });
      worker.on('error', reject);
      return { terminate: () => worker.terminate(), next };
    });
    for (const worker of workers) worker.next();
  });

const main = async (): Promise<void> => {
  const [only] = process.argv.slice(2);
  const chosen = (name: string): boolean => only === undefined || name.includes(only);
  const jobs: Job[] = [
    ...worlds.flatMap((world, index) => (chosen(world.name) ? [{ kind: 'world', index } as const] : [])),
    ...mutants.flatMap((mutant, index) => (chosen(mutant.name) ? [{ kind: 'mutant', index } as const] : [])),
  ];
  let states = 0;
  let violations = 0;
  let caught = 0;
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  await runAll(jobs, ({ job, found, error }) => {
    const trace = found?.violation?.trace.map((step) => `           ${step}`).join('\n');
    if (job.kind === 'world') {
      const name = worlds[job.index]?.name;
      states += found?.states ?? 0;
      const verdict = error ?? found?.violation?.what;
      say(
        `${String(found?.states ?? 0).padStart(9)} states  ${verdict === undefined ? 'ok      ' : 'VIOLATED'}  ${name}`,
      );
      if (verdict === undefined) return;
      violations++;
      say(`           ${verdict}\n${trace ?? ''}`);
      return;
    }
    const name = mutants[job.index]?.name;
    if (found?.violation !== undefined) caught++;
    const how =
      error ??
      (found?.violation === undefined ? 'NOT CAUGHT' : `caught by "${found.world}": ${found.violation.what}`);
    say(`   mutant: ${name}\n           ${how}`);
  });
  const all = jobs.filter((job) => job.kind === 'mutant').length;
  say(`states ${states} violations ${violations} mutants ${caught}/${all} worlds ${jobs.length - all}`);
  process.exitCode = violations === 0 && caught === all ? 0 : 1;
};

if (isMainThread) await main();
else work();
