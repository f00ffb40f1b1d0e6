import * as runtime from '@handover/runtime';
import * as kubernetes from '@handover/runtime/kubernetes';
import * as openshift from '@handover/runtime/openshift';
import * as testing from '@handover/runtime/testing';
import * as handover from 'handover';
import { use } from './use.cjs';

const [, peers] = process.argv.slice(2);
const grpc = peers ? await import('@handover/runtime/grpc') : undefined;
const outcome = await use({ runtime, kubernetes, openshift, testing, handover, grpc }, process.argv.slice(2));
process.stdout.write(JSON.stringify({ ...outcome, oneOfEach: true }));
