// npm run generate: docs/reference from the code. `npm test` fails when it is stale.
import { mkdirSync, writeFileSync } from 'node:fs';
import { reference } from '../packages/cli/dist/reference/reference.js';

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(await reference())) writeFileSync(new URL(name, folder), text);
