// The driver of @handover/runtime. The commands and answers are in ../README.md.
import { createServer, get } from 'node:https';
import { createInterface } from 'node:readline';
import { openIdentity, serveStatus } from '@handover/runtime';

let agent;

const listening = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

const commands = {
  async open({ dir, pollMs }) {
    const files = { cert: `${dir}/tls.crt`, key: `${dir}/tls.key`, ca: `${dir}/ca.crt` };
    const identity = await openIdentity(files, { pollMs });
    agent = identity.httpsAgent();
    const answer = (_, response) => response.setHeader('connection', 'close').end('hello');
    const server = await listening(identity.serve(createServer({ requestCert: true }, answer)));
    const { port } = await serveStatus({ port: 0, host: '127.0.0.1', sources: [identity] });
    return { status: port, server };
  },
  dial: ({ port }) =>
    new Promise((resolve, reject) => {
      get({ host: 'localhost', family: 4, port, agent }, (response) => {
        response
          .once('error', reject)
          .once('end', () => resolve({}))
          .resume();
      }).once('error', reject);
    }),
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, do: name, ...rest } = JSON.parse(line);
  const answer = await commands[name](rest).then(
    (more) => ({ ok: true, ...more }),
    ({ code }) => ({ ok: false, code }),
  );
  process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`);
});
