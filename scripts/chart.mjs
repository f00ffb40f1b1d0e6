// npm run chart: writes deploy/chart/handover anew from packages/install/src. A test compares (chart.test.ts there).
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartFiles } from '../packages/install/dist/chart/chart.js';

const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8'));
const folder = 'deploy/chart/handover';
rmSync(folder, { recursive: true, force: true });
for (const [path, text] of chartFiles(version)) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
process.stdout.write(`${folder}: version ${version}\n`);
