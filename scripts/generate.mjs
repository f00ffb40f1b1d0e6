// npm run generate: docs/reference from the code, docs/scenarios.md from the tests' names. `npm test` and `npm run check` say when they are stale.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referencePages } from '../packages/cli/dist/reference/reference.js';
import { collect, page } from './scenarios/scenarios.mjs';
import { runtimeReference } from './tsdoc/reference.mjs';

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });
const root = fileURLToPath(new URL('../', import.meta.url));
const pages = { ...(await referencePages()), 'runtime.md': runtimeReference(root) };
for (const [name, text] of Object.entries(pages)) writeFileSync(new URL(name, folder), text);
writeFileSync(new URL('../scenarios.md', folder), page(collect()));
