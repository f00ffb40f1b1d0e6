// A small mTLS program without Handover's library: it reads tls.crt, tls.key and ca.crt from a folder, checks them every 100 ms
// for changes, and loads them a given number of seconds later. It calls the other programs when asked to, and counts.
import { readFileSync } from 'node:fs';
import { connect, createSecureContext, createServer } from 'node:tls';

const [folder, delay, name] = process.argv.slice(2);
const read = () => ({
  cert: readFileSync(`${folder}/tls.crt`),
  key: readFileSync(`${folder}/tls.key`),
  ca: readFileSync(`${folder}/ca.crt`),
});
const same = (a, b) => ['cert', 'key', 'ca'].every((part) => a[part].equals(b[part]));
const tryRead = () => {
  try {
    return read();
  } catch {
    return undefined; // between two writes, or at the end of the show
  }
};
let loaded = read();
let secureContext = createSecureContext(loaded);
let waiting = false;
const server = createServer({ ...loaded, requestCert: true, rejectUnauthorized: true }, (socket) => {
  socket.on('error', () => {});
  socket.once('data', (data) => socket.end(data));
});
server.on('tlsClientError', () => {});
setInterval(() => {
  const found = tryRead();
  if (waiting || found === undefined || same(found, loaded)) return;
  waiting = true;
  setTimeout(() => {
    loaded = read();
    secureContext = createSecureContext(loaded);
    server.setSecureContext(loaded);
    waiting = false;
  }, Number(delay) * 1000);
}, 100);

const call = ({ port, to }) => {
  const socket = connect({ port, host: '127.0.0.1', servername: to, secureContext });
  let over = false;
  const end = (problem) => {
    if (over) return;
    over = true;
    socket.destroy();
    process.send({ from: name, to, problem }, () => {});
  };
  socket.setTimeout(15_000, () => end('timeout'));
  socket.on('secureConnect', () => socket.write('x'));
  socket.on('data', () => end(undefined));
  socket.on('error', (error) => end(error.code));
  socket.on('close', () => end('closed'));
};
process.on('message', call);
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
