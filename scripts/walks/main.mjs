// npm run walks [-- drift|sign|rotate|swap]: runs each walk, prints what it runs through, and writes docs/architecture/walks.md. Needs openssl.
import { writeFileSync } from 'node:fs';
import { page } from './page.mjs';
import { Stage } from './stage.mjs';
import { WALKS } from './walks.mjs';

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !WALKS.some((walk) => walk.name === name));
if (unknown.length > 0) {
  process.stderr.write(`USAGE: npm run walks -- [${WALKS.map(({ name }) => name).join('|')}]\n`);
  process.exit(2);
}
const walked = [];
for (const walk of WALKS.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const stage = new Stage();
  try {
    const ran = await walk.walk(stage);
    walked.push({ ...walk, ran });
    const functions = ran.reduce((sum, one) => sum + one.functions.length, 0);
    process.stdout.write(`${walk.name}: ${ran.length} files, ${functions} functions\n`);
  } finally {
    await stage.end();
  }
}
if (asked.length === 0)
  writeFileSync(new URL('../../docs/architecture/walks.md', import.meta.url), page(walked));
process.exit(0);
