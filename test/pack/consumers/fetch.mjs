// trust.fetch as programs use fetch. Arguments: a folder with tls.crt, tls.key, ca.crt and other.crt, another CA; a package to import first, or nothing.
import { createServer } from 'node:https';
import { gzipSync } from 'node:zlib';

const [folder, first] = process.argv.slice(2);
if (first) await import(first);
const { openIdentity, openTrust } = await import('@handover/runtime');
const ending = new AbortController();
const { signal } = ending;
const identity = await openIdentity({ cert: `${folder}/tls.crt`, key: `${folder}/tls.key` }, { signal });
const trust = await openTrust(`${folder}/ca.crt`, { signal });
const stranger = await openTrust(`${folder}/other.crt`, { signal });

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { url, method, headers } = request;
    if (url === '/moved') return response.writeHead(307, { location: '/echo' }).end();
    if (url === '/none') return response.writeHead(204).end();
    if (url === '/zip')
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('zipped'));
    if (url === '/cookies') return response.writeHead(200, 'Fine', { 'set-cookie': ['a=1', 'b=2'] }).end();
    if (url === '/cut') {
      response.writeHead(200, { 'content-length': 100 }).write('a');
      return setTimeout(() => response.destroy(), 20);
    }
    if (url === '/endless') return response.write('a');
    const body = Buffer.concat(chunks).toString('latin1');
    response.end(
      JSON.stringify({ method, url, host: headers.host, type: headers['content-type'] ?? '', body }),
    );
  });
});
identity.serve(server);
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `https://localhost:${server.address().port}`;

const { fetch: loose } = trust;
const said = async (promise) => {
  const { method, type, body } = await (await promise).json();
  return `${method} ${type.split(';')[0]} ${body}`;
};
const errorOf = (promise) =>
  promise.then(
    () => 'none',
    ({ name, cause }) => `${name} ${cause?.code ?? ''}`.trim(),
  );
const form = new FormData();
form.set('field', 'value');
form.set('file', new Blob(['contents']), 'name.txt');
const streamed = () =>
  new ReadableStream({
    start(controller) {
      for (const word of ['one', 'two']) controller.enqueue(new TextEncoder().encode(word));
      controller.close();
    },
  });
const big = 'x'.repeat(3_000_000);
const closed = createServer();
await new Promise((resolve) => closed.listen(0, '127.0.0.1', resolve));
const { port: free } = closed.address();
await new Promise((resolve) => closed.close(resolve));
const { href } = new URL('/echo', origin);
const post = (body, more = {}) => trust.fetch(href, { method: 'POST', body, ...more });

const sentForm = await (await post(form)).json();
const moved = await trust.fetch(`${origin}/moved`, { method: 'POST', body: 'kept' });
const cookies = await trust.fetch(`${origin}/cookies`);
const aborted = new AbortController();
const endless = await trust.fetch(`${origin}/endless`, { signal: aborted.signal });
const reading = errorOf(endless.text());
aborted.abort();
const none = await trust.fetch(`${origin}/none`);
const outcome = {
  node: process.versions.node,
  form: [
    sentForm.type.startsWith('multipart/form-data; boundary='),
    sentForm.body.includes('name="field"\r\n\r\nvalue\r\n'),
    sentForm.body.includes('filename="name.txt"'),
  ],
  request: await said(trust.fetch(new Request(href, { method: 'PUT', body: 'a request' }))),
  loose: await said(loose(href)),
  url: await said(loose(new URL(href))),
  params: await said(post(new URLSearchParams({ a: 'b' }))),
  blob: await said(post(new Blob(['a blob'], { type: 'text/x' }))),
  bytes: await said(post(new Uint8Array([65, 66]))),
  stream: await said(post(streamed(), { duplex: 'half' })),
  deleted: await said(trust.fetch(href, { method: 'DELETE', body: streamed(), duplex: 'half' })),
  big: (await (await post(big)).json()).body.length,
  classes: [
    moved instanceof Response,
    moved.headers instanceof Headers,
    moved.body instanceof ReadableStream,
  ],
  moved: [moved.redirected, moved.url === href, (await moved.json()).body],
  refusesToMove: await errorOf(trust.fetch(`${origin}/moved`, { redirect: 'error' })),
  zip: await (await trust.fetch(`${origin}/zip`)).text(),
  none: [none.status, none.body === null],
  cookies: [cookies.headers.getSetCookie(), cookies.statusText],
  head: (await trust.fetch(href, { method: 'HEAD' })).status,
  slashes: (await (await trust.fetch(`${origin}//elsewhere.test/a?`)).json()).url.replace(/\?$/, ''),
  cut: await errorOf(trust.fetch(`${origin}/cut`).then((response) => response.text())),
  aborted: await reading,
  abortedBefore: await errorOf(trust.fetch(href, { signal: AbortSignal.abort() })),
  refused: await errorOf(trust.fetch(`https://127.0.0.1:${free}/`)),
  unknown: await errorOf(stranger.fetch(href)),
  twenty: new Set(await Promise.all(Array.from({ length: 20 }, () => said(trust.fetch(href))))).size,
};
ending.abort();
server.closeAllConnections();
server.close();
process.stdout.write(JSON.stringify(outcome));
