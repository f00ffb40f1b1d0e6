import tls from 'node:tls';
import { MongoClient as AnyClient, BSON } from 'mongodb';
import { nodeServer, optionsFrom } from './node-server.mjs';

export const title = "stand-in: MongoDB's protocol";

const HELLO = {
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  minWireVersion: 0,
  maxWireVersion: 21,
  ok: 1,
};
const [OP_REPLY, OP_QUERY, OP_MSG] = [1, 2004, 2013];

/** The same answer to every command: what a server says of itself, and that it went well. */
const answerTo = (message) => {
  const body = BSON.serialize(HELLO);
  const isQuery = message.readInt32LE(12) === OP_QUERY;
  const before = Buffer.alloc(isQuery ? 20 : 5);
  if (isQuery) before.writeInt32LE(1, 16);
  const head = Buffer.alloc(16);
  head.writeInt32LE(16 + before.length + body.length, 0);
  head.writeInt32LE(message.readInt32LE(4), 8);
  head.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
  return Buffer.concat([head, before, body]);
};

export const start = (folder) => {
  const server = tls.createServer(optionsFrom(folder), (socket) => {
    let unread = Buffer.alloc(0);
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        unread = Buffer.concat([unread, data]);
        while (unread.length >= 16 && unread.length >= unread.readInt32LE(0)) {
          socket.write(answerTo(unread));
          unread = unread.subarray(unread.readInt32LE(0));
        }
      });
  });
  return nodeServer(folder, server);
};

// Connections that last for one command.
class MongoClient extends AnyClient {
  constructor(url, options) {
    super(url, {
      ...options,
      maxPoolSize: 1,
      maxIdleTimeMS: 1,
      retryReads: false,
      serverSelectionTimeoutMS: 2_000,
    });
  }
}

export const drivers = [
  {
    package: 'mongodb',
    before: ({ address }) => ({ url: `mongodb://${address}` }),
    make: ({ identity, url }) => new MongoClient(url, { tls: true, ...identity.tlsOptions() }),
    ask: async (client) => {
      await new Promise((tick) => setTimeout(tick, 3));
      const { ok } = await client.db('admin').command({ ping: 1 });
      if (ok !== 1) throw new Error('not well');
    },
    end: (client) => client.close(),
  },
];
