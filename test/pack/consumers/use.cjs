// What a program does with both packages, however it got hold of them. Arguments: a folder with tls.crt, tls.key and ca.crt, and
// whether the optional peers are installed.
const { createServer, get } = require('node:https');

const textFrom = (options) =>
  new Promise((resolve, reject) => {
    get(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (more) => {
        text += more;
      });
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });

const codeOf = (promise) =>
  promise.then(
    () => 'none',
    (error) => error.code,
  );

module.exports.use = async ({ runtime, kubernetes, openshift, testing, handover, grpc }, [folder]) => {
  const ending = new AbortController();
  const { signal } = ending;
  const ca = `${folder}/ca.crt`;
  const files = { cert: `${folder}/tls.crt`, key: `${folder}/tls.key`, ca };
  const identity = await runtime.openIdentity(files, { signal });
  const trust = await runtime.openTrust(ca, { signal });
  const server = createServer({ requestCert: true, rejectUnauthorized: true }, (request, response) => {
    response.end(`hello ${request.socket.getPeerCertificate().subjectaltname}`);
  });
  identity.serve(server);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const at = { host: '127.0.0.1', port, path: '/' };
  const said = await textFrom({ ...at, agent: identity.httpsAgent() });
  const refused = await textFrom({ ...at, agent: trust.httpsAgent() }).then(
    () => 'taken',
    () => 'refused',
  );
  const fetched = await identity.fetch(`https://127.0.0.1:${port}/`).then((answer) => answer.text());
  let withoutUndici = 'none';
  try {
    trust.dispatcher();
  } catch ({ code }) {
    withoutUndici = code;
  }
  const channel = grpc === undefined ? 'none' : typeof grpc.credentials(trust)._createSecureConnector;
  const mesh = await testing.openTestMesh();
  await mesh.rotate();
  mesh.close();
  const outcome = {
    rotated: mesh.trust.status().loads,
    isOpenShift: openshift.isOpenShift(),
    node: process.versions.node,
    said,
    refused,
    fetched,
    withoutUndici,
    channel,
    missing: await codeOf(runtime.openTrust(`${folder}/none.crt`)),
    outside: await codeOf(kubernetes.inCluster({ env: {} })),
    embedded: await codeOf(
      handover.embed(
        {
          authority: { name: 'own' },
          leaf: { name: 'own', dnsNames: ['own.own.svc'] },
          inject: [{ kind: 'APIService', name: 'v1.own' }],
        },
        { signal, kubeconfig: `${folder}/none` },
      ),
    ),
    errors: [runtime.HandoverError.name, handover.HandoverError.name],
  };
  ending.abort();
  server.closeAllConnections();
  server.close();
  return outcome;
};
