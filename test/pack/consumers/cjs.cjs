const runtime = require('@handover/runtime');
const kubernetes = require('@handover/runtime/kubernetes');
const openshift = require('@handover/runtime/openshift');
const testing = require('@handover/runtime/testing');
const handover = require('handover');
const { use } = require('./use.cjs');

const [, peers] = process.argv.slice(2);
const grpc = peers ? require('@handover/runtime/grpc') : undefined;
use({ runtime, kubernetes, openshift, testing, handover, grpc }, process.argv.slice(2)).then(
  async (outcome) => {
    const imported = await import('@handover/runtime');
    const oneOfEach =
      imported.HandoverError === runtime.HandoverError && imported.openTrust === runtime.openTrust;
    process.stdout.write(JSON.stringify({ ...outcome, oneOfEach }));
  },
);
