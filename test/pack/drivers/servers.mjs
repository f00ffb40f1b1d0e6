// Servers of others with an identity of ours. Their clients know nothing of it: they read their files at each connection.
import { once } from 'node:events';
import http2 from 'node:http2';
import https from 'node:https';
import tls from 'node:tls';
import grpc from '@grpc/grpc-js';
import { serverCredentials } from '@handover/runtime/grpc';
import Hapi from '@hapi/hapi';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import { fastify } from 'fastify';
import Koa from 'koa';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import WebSocket, { WebSocketServer } from 'ws';
import { optionsFrom } from './node-server.mjs';
import { mustBe, text } from './world.mjs';

export const title = 'clients of Node';
export const start = async (theirs) => ({
  context: { theirs },
  reload: async () => undefined,
  end: async () => undefined,
});
/** Node's server closes the connection of a client whose CA it does not know. */
export const refused = /ECONNRESET|closed|UNAVAILABLE|unexpected answer: $/;

const ok = mustBe('ok');
const listening = async (server) => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  server.on('tlsClientError', () => undefined);
  return server;
};
const get = async (server, { theirs }) => {
  const options = { ...optionsFrom(theirs), agent: false, host: 'localhost', port: server.address().port };
  const response = await new Promise((resolve, reject) => https.get(options, resolve).on('error', reject));
  ok(await text(response));
};
/** Of socket.io. */
const answering = (sockets) => {
  sockets.on('connection', (socket) => socket.on('ask', (answer) => answer('ok')));
  return listening(sockets.httpServer);
};
const askSocket = async (server, { theirs }) => {
  const transports = ['websocket'];
  const options = { ...optionsFrom(theirs), reconnection: false, forceNew: true, transports };
  const socket = io(`https://localhost:${server.address().port}`, options);
  try {
    ok(
      await new Promise((resolve, reject) => {
        socket.once('connect_error', ({ description, message }) => reject(description?.error ?? message));
        socket.emit('ask', resolve);
      }),
    );
  } finally {
    socket.disconnect();
  }
};

export const drivers = [
  {
    name: 'node:https',
    before: () => ({ handler: (_, response) => response.end('ok') }),
    make: ({ identity, handler }) => identity.serve(https.createServer({ requestCert: true }, handler)),
    server: listening,
    ask: get,
  },
  {
    name: 'node:http2',
    before: () => ({ handler: (_, response) => response.end('ok') }),
    make: ({ identity, handler }) => identity.serve(http2.createSecureServer({ requestCert: true }, handler)),
    server: listening,
    ask: async (server, { theirs }) => {
      const session = http2.connect(`https://localhost:${server.address().port}`, optionsFrom(theirs));
      try {
        ok(
          await new Promise((resolve, reject) => {
            session.once('error', reject).once('close', () => reject(new Error('closed')));
            text(session.request().setEncoding('utf8')).then(resolve, reject);
          }),
        );
      } finally {
        session.destroy();
      }
    },
  },
  {
    name: 'node:tls',
    before: () => ({ handler: (socket) => socket.on('error', () => undefined).end('ok') }),
    make: ({ identity, handler }) => identity.serve(tls.createServer({ requestCert: true }, handler)),
    server: listening,
    ask: async (server, { theirs }) =>
      ok(await text(tls.connect({ ...optionsFrom(theirs), host: 'localhost', port: server.address().port }))),
  },
  {
    package: 'express',
    before: () => ({ app: express().get('/', (_, response) => response.send('ok')) }),
    make: ({ identity, app }) => identity.serve(https.createServer({ requestCert: true }, app)),
    server: listening,
    ask: get,
  },
  {
    package: 'koa',
    before: () => ({
      app: new Koa().use((context) => {
        context.body = 'ok';
      }),
    }),
    make: ({ identity, app }) => identity.serve(https.createServer({ requestCert: true }, app.callback())),
    server: listening,
    ask: get,
  },
  {
    package: 'fastify',
    make: ({ identity }) =>
      fastify({
        serverFactory: (handler) => identity.serve(https.createServer({ requestCert: true }, handler)),
      }),
    server: async (app) => {
      app.get('/', async () => 'ok');
      await app.listen({ port: 0, host: '127.0.0.1' });
      return listening(app.server);
    },
    ask: get,
  },
  {
    package: '@hapi/hapi',
    before: () => ({ host: '127.0.0.1', port: 0 }),
    make: ({ identity, host, port }) =>
      Hapi.server({
        host,
        port,
        tls: true,
        listener: identity.serve(https.createServer({ requestCert: true })),
      }),
    server: async (app) => {
      app.route({ method: 'GET', path: '/', handler: () => 'ok' });
      await app.start();
      return listening(app.listener);
    },
    ask: get,
  },
  {
    package: '@nestjs/core',
    before: async () => {
      class Hello {
        hello() {
          return 'ok';
        }
      }
      Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
      Controller()(Hello);
      class All {}
      Module({ controllers: [Hello] })(All);
      const app = await NestFactory.create(All, { httpsOptions: { requestCert: true }, logger: false });
      await app.init();
      return { app };
    },
    make: ({ identity, app }) => identity.serve(app.getHttpServer()),
    server: listening,
    ask: get,
  },
  {
    package: 'ws',
    make: ({ identity }) =>
      new WebSocketServer({ server: identity.serve(https.createServer({ requestCert: true })) }),
    server: (sockets) => {
      sockets.on('connection', (socket) => socket.send('ok'));
      return listening(sockets.options.server);
    },
    ask: async (server, { theirs }) => {
      const socket = new WebSocket(`wss://localhost:${server.address().port}`, optionsFrom(theirs));
      const data = await new Promise((resolve, reject) =>
        socket.on('error', reject).once('message', resolve),
      );
      socket.close();
      ok(String(data));
    },
  },
  {
    package: 'socket.io',
    make: ({ identity }) => new Server(identity.serve(https.createServer({ requestCert: true }))),
    server: answering,
    ask: askSocket,
  },
  {
    name: 'socket.io, options spread into its server',
    package: 'socket.io',
    make: ({ identity }) =>
      new Server(identity.serve(https.createServer({ ...identity.tlsOptions(), requestCert: true }))),
    server: answering,
    ask: askSocket,
  },
  {
    package: '@grpc/grpc-js',
    before: () => {
      const server = new grpc.Server();
      const asIs = (value) => value;
      const method = { path: '/mesh/ask', requestStream: false, responseStream: false };
      const serialize = {
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asIs,
        responseDeserialize: asIs,
      };
      server.addService(
        { ask: { ...method, ...serialize } },
        { ask: (_, answer) => answer(null, Buffer.from('ok')) },
      );
      let bound;
      const port = new Promise((resolve, reject) => {
        bound = (error, number) => (error ? reject(error) : resolve(number));
      });
      server.port = port;
      return { server, address: '127.0.0.1:0', bound };
    },
    make: ({ identity, server, address, bound }) =>
      server.bindAsync(address, serverCredentials(identity), bound),
    server: async (_, { server }) => ({ port: await server.port }),
    ask: async ({ port }, { theirs }) => {
      const { ca, key, cert } = optionsFrom(theirs);
      const asIs = (value) => value;
      const client = new grpc.Client(`localhost:${port}`, grpc.credentials.createSsl(ca, key, cert), {
        'grpc.use_local_subchannel_pool': 1,
      });
      try {
        const answer = await new Promise((resolve, reject) => {
          const deadline = { deadline: Date.now() + 15_000 };
          client.makeUnaryRequest(
            '/mesh/ask',
            asIs,
            asIs,
            Buffer.from(''),
            new grpc.Metadata(),
            deadline,
            (error, value) => (error ? reject(error) : resolve(value)),
          );
        });
        ok(String(answer));
      } finally {
        client.close();
      }
    },
  },
];
