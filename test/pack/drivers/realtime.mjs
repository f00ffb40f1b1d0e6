// WebSocket clients of an https server.
import https from 'node:https';
import { Server } from 'socket.io';
import { io as connectTo } from 'socket.io-client';
import WebSocket, { WebSocketServer } from 'ws';
import { nodeServer, optionsFrom } from './node-server.mjs';
import { mustBe } from './world.mjs';

export const title = 'ws and socket.io';
export const start = (folder) => {
  const server = https.createServer(optionsFrom(folder));
  const sockets = new WebSocketServer({ noServer: true });
  new Server(server).on('connection', (socket) => socket.on('ask', (answer) => answer('ok')));
  server.on('upgrade', (request, socket, head) => {
    if (request.url === '/') sockets.handleUpgrade(request, socket, head, (one) => one.send('ok'));
  });
  return nodeServer(folder, server);
};

const ok = mustBe('ok');
// Each call a new connection; connecting again by itself would hide failures.
const io = (url, options) => connectTo(url, { ...options, reconnection: false, forceNew: true });

/** socket.io tucks the error of a WebSocket, or of a poll, away. */
const reasonOf = ({ description, context, message }) => description?.error ?? context?.statusText ?? message;

/** A new connection of socket.io, one question, one answer. */
const ask = async (call, context) => {
  const socket = call(context);
  try {
    ok(
      await new Promise((resolve, reject) => {
        socket.once('connect_error', (error) => reject(reasonOf(error)));
        socket.emit('ask', resolve);
      }),
    );
  } finally {
    socket.disconnect();
  }
};

export const drivers = [
  {
    package: 'ws',
    call: ({ url, agent }) => new WebSocket(url, { agent }),
    ask: async (call, context) => {
      const socket = call({ ...context, url: context.url.replace('https', 'wss') });
      const data = await new Promise((resolve, reject) =>
        socket.on('error', reject).once('message', resolve),
      );
      socket.close();
      ok(String(data));
    },
  },
  {
    package: 'socket.io-client',
    call: ({ url, agent }) => io(url, { agent }),
    ask,
  },
  {
    name: 'socket.io-client, WebSocket alone',
    package: 'socket.io-client',
    call: ({ url, agent }) => io(url, { agent, transports: ['websocket'] }),
    ask,
  },
  {
    name: 'socket.io-client, options spread at each connection',
    package: 'socket.io-client',
    call: ({ identity, url }) => io(url, { ...identity.tlsOptions() }),
    ask,
  },
];
