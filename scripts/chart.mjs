// npm run chart: writes deploy/chart/handover from packages/install/src. chart.test.ts there fails when the chart is stale.
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
