// npm run generate: docs/reference from the code, docs/scenarios.md from the tests' names. `npm test` and `npm run check` say when they are stale.
import { mkdirSync, writeFileSync } from 'node:fs';
import { reference } from '../packages/cli/dist/reference/reference.js';
import { collect, page } from './scenarios/scenarios.mjs';

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(await reference())) writeFileSync(new URL(name, folder), text);
writeFileSync(new URL('../scenarios.md', folder), page(collect()));
