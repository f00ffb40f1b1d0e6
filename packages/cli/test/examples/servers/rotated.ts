import { expect } from 'vitest';
import type { Client } from './clients.ts';
import type { Stage } from './stage.ts';

export interface Outcome {
  /** Exit codes of the rotations. */
  readonly codes: readonly number[];
  /** Successful calls of each client, in the order given. */
  readonly handshakes: readonly number[];
  /** Calls that failed, other than those below. */
  readonly failed: readonly string[];
  /** Calls that found no connection, or lost it, while the server was restarted or a hook ran. */
  readonly dropped: readonly string[];
  readonly restarts: number;
  /** Restarts, and runs of hooks. */
  readonly interruptions: number;
}

/** What clients say of a server that is not there, or went away before it showed a certificate. */
const NO_CONNECTION = new RegExp(
  [
    'refused|reset by peer|broken pipe|Connection reset|\\bEOF\\b|unexpected eof',
    "Couldn't connect|SSL_ERROR_SYSCALL", // curl
    // mosquitto_pub -d: a refused certificate is an "OpenSSL Error", a reset connection is none
    'connection was lost|^(?!.*OpenSSL Error).*A TLS error occurred',
    'Protocol error Client \\(null\\) sending CONNECT', // a broker that goes away before it answers
    "can't contact", // ldapwhoami
    // GnuTLS, in ldapwhoami: a server that goes away in mid-handshake. One that refuses sends a fatal alert.
    'Error in the push function|connection was non-properly terminated',
    '^no answer', // a call that was ended after its longest time
    'Unexpected LDAP response|BIO_read failed', // openssl, before TLS
  ].join('|'),
  'i',
);
/** A connection made just before the end may be taken by what goes away. */
const LATE_MS = 2_000;

const waitFor = async (isTrue: () => boolean, what: () => string): Promise<void> => {
  for (const deadline = Date.now() + 30_000; !isTrue(); ) {
    if (Date.now() > deadline) throw new Error(what());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

/** Rotates twice while every client makes one handshake after another, from before the first until after the second. */
export const rotatedTwice = async (
  stage: Stage,
  program: string,
  clients: readonly Client[],
): Promise<Outcome> => {
  await stage.run();
  const stop = new AbortController();
  const results = clients.map((client) => {
    const calls: { readonly began: number; readonly at: number; readonly result: string }[] = [];
    let began = Date.now();
    client.start((result) => {
      const at = Date.now();
      calls.push({ began, at, result });
      began = at;
    }, stop.signal);
    return { name: client.name, calls };
  });
  const successes = (): readonly number[] =>
    results.map(({ calls }) => calls.filter(({ result }) => result === 'ok').length);
  const more = async (count: number): Promise<void> => {
    const before = successes();
    await waitFor(
      () => successes().every((now, index) => now >= (before[index] ?? 0) + count),
      () => `calls fail: ${results.map(({ name, calls }) => `${name} ${calls.at(-1)?.result}`).join(', ')}`,
    );
  };
  try {
    await more(2);
    const since = Date.now();
    const codes: number[] = [];
    for (const id of ['one', 'two']) {
      const args = ['--id', id, '--wait', '--timeout', '2m', '--home', `dir:${stage.dir}`];
      const { code, stderr } = await stage.handover('rotate', 'default/internal', ...args);
      if (code !== 0) console.error(stderr);
      codes.push(code);
    }
    const seconds = Math.round((Date.now() - since) / 1000);
    // Also catches a failure of a program that is slow to load the last change.
    await more(3);
    const failures = results.flatMap(({ name, calls }) =>
      calls.filter(({ result }) => result !== 'ok').map((call) => ({ ...call, name })),
    );
    const isDropped = ({ began, at, result }: { began: number; at: number; result: string }): boolean =>
      NO_CONNECTION.test(result) &&
      [...stage.restarts, ...stage.hooks()].some(({ from, to }) => at >= from && began <= to + LATE_MS);
    const told = ({ name, result }: { name: string; result: string }): string => `${name}: ${result}`;
    const handshakes = successes();
    const outcome: Outcome = {
      codes,
      handshakes,
      failed: failures.filter((failure) => !isDropped(failure)).map(told),
      dropped: failures.filter(isDropped).map(told),
      restarts: stage.restarts.length,
      interruptions: stage.restarts.length + stage.hooks().length,
    };
    const by = results.map(({ name }, index) => `${name} ${handshakes[index]}`).join(', ');
    console.log(
      `${program}: ${by}; ${outcome.failed.length} failed, ${outcome.dropped.length} dropped, ${seconds} s, ${outcome.restarts} restarts`,
    );
    return outcome;
  } finally {
    stop.abort();
  }
};

/** Calls of one client that one restart or hook may cost. */
const MOST_DROPPED = 3;

interface Expected {
  readonly consumer: string;
  readonly restarts?: number;
  /** Whether the program closes connections when it is told to load its files. */
  readonly drops?: boolean;
}

/** Both rotations are complete, on what a probe of the program showed, and no call failed that should not. */
export const expectRotated = async (
  stage: Stage,
  outcome: Outcome,
  { consumer, restarts = 0, drops = restarts > 0 }: Expected,
): Promise<void> => {
  expect(outcome).toMatchObject({ codes: [0, 0], failed: [], restarts });
  const most = drops ? MOST_DROPPED * outcome.interruptions * outcome.handshakes.length : 0;
  expect(outcome.dropped.length, outcome.dropped.join('\n')).toBeLessThanOrEqual(most);
  for (const count of outcome.handshakes) expect(count).toBeGreaterThan(50);
  const { stdout } = await stage.handover('status', '--json', '--home', `dir:${stage.dir}`);
  expect(JSON.parse(stdout).authorities[0]).toMatchObject({
    phase: 'Stable',
    generations: [{ generation: 3 }],
    consumers: [{ name: consumer, evidence: 'probed' }],
  });
};

/** The rotation does not go on: a program has not loaded what it must, and the command says which. */
export const expectWaits = async (stage: Stage, why: string): Promise<void> => {
  const args = ['--wait', '--timeout', '8s', '--home', `dir:${stage.dir}`];
  const { code, stderr } = await stage.handover('rotate', 'default/internal', ...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(why) });
  const { stdout } = await stage.handover('status', '--json', '--home', `dir:${stage.dir}`);
  expect(JSON.parse(stdout).authorities[0]).toMatchObject({ phase: 'Introducing' });
};
