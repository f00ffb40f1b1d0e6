// The runtime's CommonJS copy. Argument: a folder with tls.crt, tls.key and ca.crt.
const { createServer, get } = require('node:https');
const runtime = require('@handover/runtime');
const { credentials } = require('@handover/runtime/grpc');
const { inCluster } = require('@handover/runtime/kubernetes');
const { isOpenShift } = require('@handover/runtime/openshift');
const { openTestMesh } = require('@handover/runtime/testing');
const { dispatcher } = require('@handover/runtime/undici');

const [folder] = process.argv.slice(2);
const files = { cert: `${folder}/tls.crt`, key: `${folder}/tls.key`, ca: `${folder}/ca.crt` };
const textFrom = (options) =>
  new Promise((resolve, reject) => {
    get(options, (response) => response.once('data', (text) => resolve(String(text)))).on('error', reject);
  });

(async () => {
  const ending = new AbortController();
  const identity = await runtime.openIdentity(files, { signal: ending.signal });
  const server = createServer({ requestCert: true }, (request, response) =>
    response.end(`hello ${request.socket.getPeerCertificate().subjectaltname}`),
  );
  identity.serve(server);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const said = await textFrom({ host: '127.0.0.1', port, agent: identity.httpsAgent() });
  const fetched = await (await identity.fetch(`https://127.0.0.1:${port}/`)).text();
  const peers = [
    credentials(identity)._isSecure(),
    typeof identity.dispatcher().dispatch,
    typeof dispatcher(identity).dispatch,
  ];
  const error = await inCluster({ env: {} }).catch((thrown) => thrown);
  const imported = await import('@handover/runtime');
  ending.abort();
  server.closeAllConnections();
  server.close();
  const mesh = await openTestMesh();
  await mesh.rotate();
  mesh.close();
  const outcome = {
    rotated: mesh.trust.status().loads,
    isOpenShift: isOpenShift(),
    said,
    fetched,
    peers: peers.join() === 'true,function,function',
    errors: error instanceof runtime.HandoverError,
    copies: new Set([imported.openTrust, runtime.openTrust]).size,
  };
  process.stdout.write(JSON.stringify(outcome));
})();
