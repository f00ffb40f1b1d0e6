import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Material } from './material.ts';

export const GROUP = 'things.mesh.example';

const KIND = {
  name: 'things',
  singularName: 'thing',
  namespaced: false,
  kind: 'Thing',
  verbs: ['get', 'list'],
};
const VERSION = { groupVersion: `${GROUP}/v1`, version: 'v1' };
const ANSWERS: Readonly<Record<string, object>> = {
  '/apis': {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: [{ name: GROUP, versions: [VERSION], preferredVersion: VERSION }],
  },
  [`/apis/${GROUP}`]: {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: GROUP,
    versions: [VERSION],
    preferredVersion: VERSION,
  },
  [`/apis/${GROUP}/v1`]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${GROUP}/v1`,
    resources: [KIND],
  },
  [`/apis/${GROUP}/v1/things`]: { kind: 'ThingList', apiVersion: `${GROUP}/v1`, metadata: {}, items: [] },
  '/openapi/v2': { swagger: '2.0', info: { title: 'things', version: 'v1' }, paths: {} },
};

const bodyOf = async (asked: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of asked.setEncoding('utf8')) text += chunk;
  return text;
};

const answer = async (asked: IncomingMessage, response: ServerResponse): Promise<void> => {
  const path = asked.url?.split('?', 1)[0] ?? '';
  // The API server would keep its connection, but each call must be a handshake.
  const headers = { 'content-type': 'application/json', connection: 'close' };
  if (path === '/check') {
    const { request } = JSON.parse(await bodyOf(asked)) as { request: { uid: string } };
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
    response
      .writeHead(200, headers)
      .end(JSON.stringify({ ...review, response: { uid: request.uid, allowed: true } }));
    return;
  }
  const found = ANSWERS[path];
  response.writeHead(found === undefined ? 404 : 200, headers).end(JSON.stringify(found ?? {}));
};

/** A webhook and an aggregated API: only the API server calls them. */
export const serveApi = (material: Material, port: number): Promise<void> => {
  const server = createServer((asked, response) => {
    answer(asked, response).catch(() => response.destroy());
  });
  server.on('tlsClientError', () => {});
  material.serve(server);
  return new Promise((resolve) => server.listen(port, resolve));
};
