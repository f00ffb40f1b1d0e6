// Three workers behind one status port. The primary loads nothing of ours, as PM2's daemon.
const cluster = require('node:cluster');
const { get } = require('node:http');

const [, , certificates, port] = process.argv;

if (cluster.isPrimary) {
  for (let i = 0; i < 3; i++) cluster.fork();
  let ready = 0;
  cluster.on('message', () => {
    if (++ready < 3) return;
    get({ host: '127.0.0.1', port, path: '/handover/status' }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => {
        const pids = Object.values(cluster.workers).map(({ process: { pid } }) => pid);
        const { processes, sources } = JSON.parse(body);
        const named = pids.every((pid) =>
          processes.some((one) => one.pid === pid && one.silent === undefined),
        );
        console.log(
          JSON.stringify({ named, holders: sources[0].pids.length, watching: sources[0].watching }),
        );
        process.exit();
      });
    });
  });
} else {
  import('@handover/runtime').then(async ({ openTrust, serveStatus }) => {
    const trust = await openTrust(`${certificates}/ca.crt`);
    await serveStatus({ port: Number(port), sources: [trust] });
    process.send('ready');
  });
}
