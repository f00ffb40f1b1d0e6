// Rotates the CA of one server and its clients while every driver of a group sends requests. Argument: the group, a file beside this one.
// Prints for each driver its line, the answers, the failures, and what it said to the removed CA.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity } from '@handover/runtime';
import { lineOf, titleOf } from './titles.mjs';
import { put, wordsOf } from './world.mjs';

const ANSWERS_PER_PHASE = 25;
const { cas, leaves, clients } = JSON.parse(process.env.WORLD);
const [name] = process.argv.slice(2);
const group = await import(`./${name}.mjs`);
const folder = mkdtempSync(join(tmpdir(), `drivers-${name}-`));
chmodSync(folder, 0o711); // servers run as their own users
const [ours, theirs] = ['client', 'server'].map((side) => join(folder, side));
for (const side of [ours, theirs]) mkdirSync(side);
put(ours, { ca: cas[0], leaf: clients[0] });
put(theirs, { ca: cas[0], leaf: leaves[0] });

const server = await group.start(theirs, { cas, clients, folder });
const files = { cert: join(ours, 'tls.crt'), key: join(ours, 'tls.key'), ca: join(ours, 'ca.crt') };
const identity = await openIdentity(files);
const { port } = server;
const context = {
  identity,
  host: 'localhost',
  port,
  address: `localhost:${port}`,
  url: `https://localhost:${port}/`,
  agent: identity.httpsAgent({ maxSockets: 4 }),
  files,
  folder,
  ...server.context,
};

const inTime = (answer) => {
  const late = AbortSignal.timeout(20_000);
  return Promise.race([
    answer,
    new Promise((_, reject) =>
      late.addEventListener('abort', () => reject(new Error('no answer within 20 s'))),
    ),
  ]);
};

const drivers = [];
for (const driver of group.drivers) {
  const given = { ...context, ...(await driver.before?.(context)) };
  const made = await driver.make?.(given);
  const asked = driver.make === undefined ? driver.call : ((await driver.server?.(made, given)) ?? made);
  const ask = () => inTime(driver.ask(asked, context));
  drivers.push({ driver, made, ask, answered: 0, wanted: ANSWERS_PER_PHASE, failed: [] });
}

let phase = 'before';
/** A driver that has its answers of the phase leaves the processor to slower ones, and goes on asking. */
const EASY_MS = 20;
let over = false;
let pause = Promise.resolve();
const load = async (one) => {
  while (!over) {
    await pause;
    one.asking = one.ask();
    const failure = await one.asking.then(() => undefined, wordsOf);
    if (failure === undefined) one.answered++;
    else one.failed.push(`${phase}: ${failure}`);
    // A driver that always fails shows it at once.
    if (one.failed.length > 100) return;
    await new Promise((turn) => (one.answered < one.wanted ? setImmediate(turn) : setTimeout(turn, EASY_MS)));
  }
};
const loads = drivers.map(load);
const enough = async () => {
  for (const one of drivers) one.wanted = one.answered + ANSWERS_PER_PHASE;
  const late = Date.now() + 120_000; // a busy machine keeps it
  while (drivers.some(({ answered, wanted, failed }) => answered < wanted && failed.length <= 100)) {
    if (Date.now() > late) throw new Error(`${phase}: too few answers of ${name}`);
    await new Promise((tick) => setTimeout(tick, 10));
  }
};
/** Some servers close what is under way when they reload, whatever the client does. */
const whilePaused = async (reload) => {
  let goOn;
  pause = new Promise((resolve) => {
    goOn = resolve;
  });
  await Promise.allSettled(drivers.map(({ asking }) => asking));
  await reload();
  goOn();
};
const swap = async (next, changed) => {
  phase = next;
  const { ca, leaf } = changed;
  const reloaded = new Promise((done) => identity.once('reloaded', done));
  put(theirs, { ca, leaf: leaf === undefined ? undefined : leaves[leaf] });
  await (group.dropsAtReload ? whilePaused(server.reload) : server.reload());
  put(ours, { ca, leaf: leaf === undefined ? undefined : clients[leaf] });
  await reloaded;
  await enough();
};

await enough();
await swap('both CAs trusted', { ca: cas[0] + cas[1] });
await swap('leaves of the new CA', { leaf: 1 });
await swap('only the new CA trusted', { ca: cas[1] });
over = true;
await Promise.all(loads);

const { refused = /certificate/i } = group;
/** A connection that was just dropped may fail otherwise first. */
const refusal = async (ask) => {
  let said = '';
  for (let attempt = 0; attempt < 20; attempt++) {
    said = await ask().then(() => 'accepted', wordsOf);
    if (said === 'accepted' || refused.test(said)) break;
    await new Promise((tick) => setTimeout(tick, 50));
  }
  return said;
};
const trustOnly = async (ca) => {
  const reloaded = new Promise((done) => identity.once('reloaded', done));
  put(ours, { ca });
  await reloaded;
};

// The CA of a server that changes nothing is removed: sessions made before do not get past that.
await server.drop?.();
for (const one of drivers) {
  const warm = await refusal(one.ask);
  if (warm !== 'accepted') throw new Error(`after the rotation: ${warm}`);
}
await trustOnly(cas[2]);
await server.drop?.();
for (const one of drivers) one.unchanged = await refusal(one.ask);
await trustOnly(cas[1]);
// The CA that was removed in the rotation is not trusted: the other side shows its leaf again.
put(theirs, { leaf: leaves[0] });
await server.reload();
await server.drop?.();
const outcome = [];
for (const { driver, ask, made, answered, failed, unchanged } of drivers) {
  const removed = await refusal(ask);
  const isRefused = refused.test(removed) && refused.test(unchanged);
  outcome.push({ ...titleOf(driver), line: lineOf(driver), answered, failed, removed, unchanged, isRefused });
  await driver.end?.(made);
}
await server.end();
rmSync(folder, { recursive: true });
const report = { server: group.title, node: process.versions.node, outcome };
process.stdout.write(JSON.stringify(report), () => process.exit(0));
