import tls from 'node:tls';
import { Kafka as AnyKafka, logLevel } from 'kafkajs';
import { nodeServer, optionsFrom } from './node-server.mjs';

export const title = "stand-in: Kafka's protocol";

/** ApiVersions, the first thing that a client of Kafka asks: size, correlation id, no error, a list of keys. */
const answerTo = (request) => {
  const keys = [3, 18, 36];
  const body = Buffer.alloc(4 + 4 + 2 + 4 + keys.length * 6 + 4);
  body.writeInt32BE(body.length - 4, 0);
  request.copy(body, 4, 8, 12);
  body.writeInt32BE(keys.length, 10);
  keys.forEach((key, i) => {
    body.writeInt16BE(key, 14 + i * 6);
    body.writeInt16BE(2, 18 + i * 6);
  });
  return body;
};

export const start = (folder) => {
  const server = tls.createServer(optionsFrom(folder), (socket) => {
    socket.on('error', () => undefined).on('data', (request) => socket.write(answerTo(request)));
  });
  return nodeServer(folder, server);
};

// Retries would hide failures.
class Kafka extends AnyKafka {
  constructor(options) {
    super({ ...options, logLevel: logLevel.NOTHING, retry: { retries: 0 } });
  }
}

export const drivers = [
  {
    package: 'kafkajs',
    make: ({ identity, address }) => new Kafka({ brokers: [address], ssl: identity.tlsOptions() }),
    ask: async (kafka) => {
      const admin = kafka.admin();
      await admin.connect();
      await admin.disconnect();
    },
  },
];
