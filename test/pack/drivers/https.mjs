// Clients of an https server.
import https from 'node:https';
import axios from 'axios';
import gotWithRetries from 'got';
import kyWithRetries from 'ky';
import needle from 'needle';
import nodeFetch from 'node-fetch';
import superagent from 'superagent';
import { request } from 'undici';
import { nodeServer, optionsFrom } from './node-server.mjs';
import { mustBe, text } from './world.mjs';

export const title = 'node:https';
export const start = (folder) =>
  nodeServer(
    folder,
    https.createServer(optionsFrom(folder), (_, response) => response.end('ok')),
  );

const ok = mustBe('ok');
// Retries would hide failures.
const got = gotWithRetries.extend({ retry: { limit: 0 } });
const ky = kyWithRetries.create({ retry: 0 });
const dispatchers = new WeakMap();
/** One for each identity, as a program has it. */
const dispatcherOf = (identity) => {
  if (!dispatchers.has(identity)) dispatchers.set(identity, identity.dispatcher({ connections: 4 }));
  return dispatchers.get(identity);
};

export const drivers = [
  {
    name: 'node:https',
    call: ({ url, agent }) => https.get(url, { agent }),
    ask: async (call, context) => {
      const response = await new Promise((resolve, reject) =>
        call(context).on('response', resolve).on('error', reject),
      );
      ok(await text(response));
    },
  },
  {
    name: 'fetch',
    call: ({ identity, url }) => identity.fetch(url),
    ask: async (call, context) => ok(await (await call(context)).text()),
  },
  {
    package: 'undici',
    call: ({ url, dispatcher }) => request(url, { dispatcher }),
    ask: async (call, context) => {
      const { body } = await call({ ...context, dispatcher: dispatcherOf(context.identity) });
      ok(await body.text());
    },
  },
  {
    package: 'axios',
    call: ({ url, agent }) => axios.get(url, { httpsAgent: agent }),
    ask: async (call, context) => ok((await call(context)).data),
  },
  {
    package: 'got',
    call: ({ url, agent }) => got(url, { agent: { https: agent } }),
    ask: async (call, context) => ok(await call(context).text()),
  },
  {
    package: 'node-fetch',
    call: ({ url, agent }) => nodeFetch(url, { agent }),
    ask: async (call, context) => ok(await (await call(context)).text()),
  },
  {
    package: 'ky',
    call: ({ identity, url }) => ky.get(url, { fetch: identity.fetch }),
    ask: async (call, context) => ok(await call(context).text()),
  },
  {
    package: 'superagent',
    call: ({ url, agent }) => superagent.get(url).agent(agent),
    ask: async (call, context) => {
      const { body, text: all } = await call(context).buffer(true);
      ok(all ?? String(body));
    },
  },
  {
    package: 'needle',
    call: ({ url, agent }) => needle('get', url, { agent }),
    ask: async (call, context) => ok(String((await call(context)).body)),
  },
];
