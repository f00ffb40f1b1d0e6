// Compiles examples, and runs them one after the other in one process of their own.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const OPEN = {
  trust: "const trust = await (await import('@handover/runtime')).openTrust('/etc/mesh/ca.crt');",
  identity:
    "const identity = await (await import('@handover/runtime')).openIdentity({ cert: '/etc/mesh/tls.crt', key: '/etc/mesh/tls.key', ca: '/etc/mesh/ca.crt' });",
  token: "const token = await (await import('@handover/runtime')).openToken('/etc/mesh/token');",
  profile:
    "const profile = await (await import('@handover/runtime')).openTlsProfile('/etc/mesh/profile.json');",
};

/** Opens what an example of a method only names: `trust`, `identity`, `token`, `profile`. */
const whole = (code) => {
  const missing = Object.keys(OPEN).filter(
    (name) => new RegExp(`(?<!\\w\\.|[/'])\\b${name}\\b`).test(code) && !code.includes(`const ${name} `),
  );
  return `${code}\nexport {};\n`.replace(
    /^(?:import .*\n)*/,
    (imports) => `${imports}${missing.map((name) => `${OPEN[name]}\n`).join('')}`,
  );
};

/** Text that an example says it prints: the comment behind a line with console.log. */
const promised = (code) => [...code.matchAll(/^.*console\.log\(.*; \/\/ (.+)$/gm)].map(([, text]) => text);

const RUNNER = `
const [, , ...names] = process.argv;
let lines = [];
let thrown;
console.log = (...words) => lines.push(words.join(' '));
process.on('uncaughtException', (error) => { thrown ??= error; });
const results = [];
for (const name of names) {
  const { file, promised } = JSON.parse(name);
  lines = [];
  thrown = undefined;
  try {
    await import(file);
    const deadline = Date.now() + 20_000;
    while (lines.length < promised.length && thrown === undefined && Date.now() < deadline)
      await new Promise((tick) => setTimeout(tick, 5));
  } catch (error) {
    thrown = error;
  }
  results.push({ printed: lines, error: thrown === undefined ? undefined : String(thrown.stack ?? thrown) });
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
`;

const output = (command, args, options = {}) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], ...options });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.once('close', (code) => resolve({ code, text: Buffer.concat(chunks).toString('utf8') }));
  });

/** What is wrong with each example: its types, an error that it throws, other text than it promises. Empty when all is well. */
export const faultsOf = async (root, directory, examples, stage) => {
  mkdirSync(join(directory, 'out'));
  const files = examples.map(({ name, code }, index) => {
    const file = `${index}-${name}.ts`;
    writeFileSync(join(directory, file), stage.adapt(whole(code)));
    return file;
  });
  const options = {
    rootDir: root,
    composite: false,
    declaration: false,
    noEmit: true,
    allowImportingTsExtensions: true,
    customConditions: ['source'],
    typeRoots: [join(root, 'node_modules/@types')],
  };
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions: options, files }),
  );
  const types = await output(join(root, 'node_modules/.bin/tsc'), ['-p', directory, '--pretty', 'false']);
  if (types.code !== 0) return types.text.trim().split('\n');
  await build({
    entryPoints: files.map((file) => join(directory, file)),
    outdir: join(directory, 'out'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    external: ['undici', '@grpc/grpc-js', '@kubernetes/client-node'],
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
    logLevel: 'silent',
  });
  writeFileSync(join(directory, 'run.mjs'), RUNNER);
  const asked = examples.map(({ code }, index) =>
    JSON.stringify({ file: `./out/${files[index].replace(/\.ts$/, '.mjs')}`, promised: promised(code) }),
  );
  const { text } = await output(process.execPath, [join(directory, 'run.mjs'), ...asked], {
    cwd: directory,
    env: { PATH: process.env.PATH, ...stage.env },
  });
  return JSON.parse(text).flatMap(({ printed, error }, index) => {
    const { name, code } = examples[index];
    if (error !== undefined) return [`${name}: ${error}`];
    const wanted = promised(code);
    const same = wanted.every((line, at) => line === printed[at]);
    return same ? [] : [`${name} prints ${JSON.stringify(printed)}, not ${JSON.stringify(wanted)}`];
  });
};
