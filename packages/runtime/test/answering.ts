import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Scope } from './fixture.ts';
import { MockCa } from './mock-ca.ts';
import { listen } from './world.ts';

const ca = new MockCa('one');

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An https server that answers in a test's way, what it was asked, and a trust that accepts it. */
export async function answering(scope: Scope, answer: Answer) {
  const trust = await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
  const seen: { url: string | undefined; headers: object; body: string }[] = [];
  const server = createServer({ ...ca.leaf() }, (request, response) => {
    const asked = { url: request.url, headers: request.headers, body: '' };
    seen.push(asked);
    request.on('data', (chunk: Buffer) => {
      asked.body += chunk;
    });
    answer(request, response);
  });
  return { trust, seen, target: scope.add(await listen(server)) };
}

/** Answers a little after the whole request with its path. */
export const echoPath: Answer = (request, response) =>
  request.resume().on('end', () => setImmediate(() => response.end(`for ${request.url}`)));
