// Documents whose commands start servers on this machine: one at a time, beside the others.
import { test } from 'vitest';
import { runDocument, SERVING } from './src/run-document.ts';

test.each(SERVING)('%s', runDocument);
