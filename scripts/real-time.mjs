// Where sources read the machine's clock or set its timers, and where unit tests wait by them. `npm run check` allows it in the adapter, and where a
// reason stands here.

/** The one adapter. */
const ADAPTER = 'packages/runtime/src/clock.ts';

/** Sources that need real time all the same, each with its reason. */
export const EXCEPTIONS = {
  'packages/cli/src/metrics/protected.test.ts': 'watchers of the kernel tell of changed files',
  'packages/dashboard/src/board.ts': 'yields after it has used a share of processor time',
  'packages/engine/src/directory/disk/subprocess-reader.ts':
    'deadlines on child processes, of which no test clock knows whether they are at work',
  'packages/dashboard/src/server.test.ts':
    'asks until the sockets of closed streams are free, at once on an idle machine',
  'packages/engine/src/directory/hooks/process-group.ts':
    'deadlines on child processes, of which no test clock knows whether they are at work',
  'packages/engine/src/directory/objects/copies-cut-short.test.ts':
    'a pass that never ends is looked at from outside',
  'packages/kube/src/reload-report.test.ts': 'watchers of the kernel tell of changed files',
  'packages/kube/src/tls.test.ts': 'watchers of the kernel tell of changed files',
  'packages/runtime/src/life.test.ts':
    '100 ms: files that come late are looked for by the runtime’s own clock',
  'packages/runtime/src/s2.test.ts':
    '20 times 5 ms: a watcher of the kernel may tell of the same bytes meanwhile',
  'packages/sim/src/threads.ts': 'the seconds that a simulation took',
  'test/api-server/src/eventually.ts': 'waits for what happens outside this process',
  'test/api-server/src/hung-file-system.ts': 'a file system in the kernel',
  'test/api-server/src/test-clock.ts': 'the limit of a process that never rests',
};

const WAITS = [
  [/\b(?:vi\.waitFor|expect\.poll)\b/, 'a poll by real time'],
  // Not `socket.setTimeout` and the like, nor a word in a name.
  [/(?<![\w.#])(?:setTimeout|setInterval)\b/, 'a timer'],
  [/\bAbortSignal\.timeout\b/, 'AbortSignal.timeout'],
  // `setImmediate` is no wait.
  [/^(?!import \{ setImmediate \} ).*['"](?:node:)?timers(?:\/promises)?['"]/, 'node:timers'],
];
/** Unit tests of the runtime are about changed files and the ends of connections: the kernel tells of both, and no clock turns it. */
const RUNTIME = 'packages/runtime/src/';
const UNTIL = [/\bDate\.now\(\) *[<>]|[<>]=? *Date\.now\(\)/, 'a wait until a moment'];
const POLL = [/\beventually\b/, 'a poll by real time'];
const PATTERNS = [
  ...WAITS,
  [/\bDate\.now\b/, 'Date.now'],
  [/\bnew Date\(\)/, 'new Date()'],
  [/(?<!\w)performance\.now\b/, 'performance.now'],
  [/\bprocess\.hrtime\b/, 'process.hrtime'],
];

const isComment = (line) => /^\s*(?:\*|\/\*|\/\/)/.test(line);

/** What a file may not use: a unit test may know what time it is, and waits for nothing. Tests of the other tiers are real. */
const patternsFor = (path) => {
  if (!/^(?:packages\/[^/]+|test\/api-server)\/src\//.test(path) || path.includes('.system.test.')) return [];
  if (!path.includes('.test.')) return PATTERNS;
  return path.startsWith(RUNTIME) ? [...WAITS, UNTIL] : [...WAITS, UNTIL, POLL];
};

/** Each line of a source or unit test that uses real time without being the adapter or an exception. */
export const realTimeIn = (path, text) => {
  if (path === ADAPTER || path in EXCEPTIONS) return [];
  const patterns = patternsFor(path);
  return text.split('\n').flatMap((line, index) => {
    if (isComment(line)) return [];
    const found = patterns.find(([pattern]) => pattern.test(line.replace(/\/\/.*$/, '')));
    if (found === undefined) return [];
    return [
      {
        line: index + 1,
        message: `${found[1]}: take a Clock (packages/material/src/clock.ts), or give a reason in scripts/real-time.mjs`,
      },
    ];
  });
};

/** Exceptions that are none: the file is gone, or uses no real time. */
export const idleExceptions = (read) =>
  Object.keys(EXCEPTIONS).filter((path) => {
    const text = read(path);
    return (
      text === undefined ||
      !text
        .split('\n')
        .some((line) => !isComment(line) && [...PATTERNS, POLL].some(([pattern]) => pattern.test(line)))
    );
  });
