// A server of an image, which knows nothing of the runtime. Its files, and the socket it listens on, are in /files.
const { readFileSync } = require('node:fs');
const { createServer } = require('node:https');

const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => readFileSync(`/files/${name}`));
createServer({ cert, key, ca, requestCert: true }, (_, response) => response.end('hello')).listen(
  '/files/socket',
);
