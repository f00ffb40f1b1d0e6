// Reads its CA once, as node:https does.
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { report, SERVICE_ACCOUNT } from './report.ts';

const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = process.env;
const agent = new Agent({ keepAlive: true, ca: readFileSync(`${SERVICE_ACCOUNT}/ca.crt`) });

await report(
  (signal) =>
    new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${readFileSync(`${SERVICE_ACCOUNT}/token`, 'utf8')}` };
      const asking = get({ host, port, path: '/version', agent, headers, signal }, (answer) => {
        answer
          .resume()
          .on('end', () =>
            answer.statusCode === 200 ? resolve() : reject(new Error(String(answer.statusCode))),
          );
      });
      asking.on('error', reject);
    }),
);
