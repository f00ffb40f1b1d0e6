import { explore } from './explore.ts';
import { Oracle } from './oracle.ts';
import { worlds } from './worlds.ts';

const oracle = new Oracle();
const only = process.argv[2];
for (const world of worlds) {
  if (only !== undefined && !world.name.includes(only)) continue;
  const begun = process.hrtime.bigint();
  try {
    const found = explore(world, oracle, undefined, Number(process.argv[3] ?? 300000));
    const ms = Number(process.hrtime.bigint() - begun) / 1e6;
    console.log(`${String(found.states).padStart(8)} states ${ms.toFixed(0).padStart(6)} ms  ${world.name}`);
    if (found.violation)
      console.log(`   VIOLATION ${found.violation.what}\n     ${found.violation.trace.join('\n     ')}`);
  } catch (e) {
    console.log(`ERR ${world.name}: ${(e as Error).stack}`);
  }
}
