// One of the workers of PM2's cluster mode. Environment: CERTIFICATES, a folder with tls.crt, tls.key and ca.crt; PORT; STATUS_PORT.
const { createServer } = require('node:https');

const { CERTIFICATES, PORT, STATUS_PORT } = process.env;

import('@handover/runtime').then(async ({ openIdentity, serveStatus }) => {
  const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => `${CERTIFICATES}/${name}`);
  const identity = await openIdentity({ cert, key, ca });
  await serveStatus({ port: Number(STATUS_PORT), sources: [identity] });
  const server = createServer((_, response) => response.end(`${process.pid}`));
  identity.serve(server).listen(Number(PORT), '127.0.0.1');
});
