// One of the workers of PM2's cluster mode. Environment: CERTIFICATES, a folder with tls.crt, tls.key and ca.crt; PORT; STATUS_PORT.
// POLLS: the last worker cannot watch its files, reads them every 8 s, and writes a line with its process id to this file each time.
const fs = require('node:fs');
const { createServer } = require('node:https');
const { syncBuiltinESMExports } = require('node:module');

const { CERTIFICATES, PORT, STATUS_PORT, POLLS, NODE_APP_INSTANCE } = process.env;
const polls = POLLS !== undefined && NODE_APP_INSTANCE === '2';
if (polls) {
  fs.watch = () => {
    fs.appendFileSync(POLLS, `${process.pid}\n`);
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  };
  syncBuiltinESMExports();
}

import('@handover/runtime').then(async ({ openIdentity, serveStatus }) => {
  const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => `${CERTIFICATES}/${name}`);
  const identity = await openIdentity({ cert, key, ca }, polls ? { pollMs: 8_000 } : {});
  await serveStatus({ port: Number(STATUS_PORT), sources: [identity] });
  const server = createServer((_, response) => response.end(`${process.pid}`));
  identity.serve(server).listen(Number(PORT), '127.0.0.1');
});
