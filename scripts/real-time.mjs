// Where sources read the machine's clock or set its timers. `npm run check` allows it in the adapter, and where a reason stands here.

/** The one adapter. */
const ADAPTER = 'packages/runtime/src/clock.ts';

/** Sources that need real time all the same, each with its reason. */
export const EXCEPTIONS = {
  'packages/dashboard/src/read-material.ts': 'yields after it has used a share of processor time',
  'packages/engine/src/directory/disk/far-readers.ts':
    'deadlines on child processes, of which no test clock knows whether they are at work',
  'packages/engine/src/directory/hooks/process-group.ts':
    'deadlines on child processes, of which no test clock knows whether they are at work',
  'packages/sim/src/threads.ts': 'the seconds that a simulation took',
  'test/api-server/src/eventually.ts': 'waits for what happens outside this process',
  'test/api-server/src/hung-file-system.ts': 'a file system in the kernel',
  'test/api-server/src/test-clock.ts': 'the limit of a process that never rests',
};

const PATTERNS = [
  // Not `socket.setTimeout` and the like, nor a word in a name.
  [/(?<![\w.#])(?:setTimeout|setInterval)\b/, 'a timer'],
  [/\bDate\.now\b/, 'Date.now'],
  [/\bnew Date\(\)/, 'new Date()'],
  [/(?<!\w)performance\.now\b/, 'performance.now'],
  [/\bAbortSignal\.timeout\b/, 'AbortSignal.timeout'],
  // `setImmediate` is no wait.
  [/^(?!import \{ setImmediate \} ).*['"](?:node:)?timers(?:\/promises)?['"]/, 'node:timers'],
  [/\bprocess\.hrtime\b/, 'process.hrtime'],
];

const isComment = (line) => /^\s*(?:\*|\/\*|\/\/)/.test(line);
const isSource = (path) =>
  (/^packages\/[^/]+\/src\//.test(path) || path.startsWith('test/api-server/src/')) &&
  !path.includes('.test.');

/** Each line of a source that uses real time without being the adapter or an exception. */
export const realTimeIn = (path, text) => {
  if (!isSource(path) || path === ADAPTER || path in EXCEPTIONS) return [];
  return text.split('\n').flatMap((line, index) => {
    if (isComment(line)) return [];
    const found = PATTERNS.find(([pattern]) => pattern.test(line.replace(/\/\/.*$/, '')));
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
      !text.split('\n').some((line) => !isComment(line) && PATTERNS.some(([pattern]) => pattern.test(line)))
    );
  });
