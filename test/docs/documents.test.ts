// npm run test:docs: runs every command of every document, in order, in one shell per document. Beside it: servers.test.ts.
import { test } from 'vitest';
import { OTHERS, runDocument } from './src/run-document.ts';

test.each(OTHERS)('%s', runDocument);
