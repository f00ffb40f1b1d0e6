import type { Package } from '../../../packages/cli/test/examples/programs.ts';
import { projectLater } from './project.ts';

/** Drivers and servers of others, each as its users install it. */
export const drivers = (): Promise<string> =>
  projectLater('drivers', [
    '@elastic/elasticsearch@9.5.1',
    '@grpc/grpc-js@1.14.7',
    '@hapi/hapi@21.4.10',
    '@kubernetes/client-node@2.0.1',
    '@nats-io/transport-node@3.4.0',
    '@nestjs/common@12.4.2',
    '@nestjs/core@12.4.2',
    '@nestjs/platform-express@12.4.2',
    'amqplib@2.3.1',
    'axios@1.21.1',
    'express@5.3.0',
    'fastify@5.12.8',
    'got@16.1.0',
    'imapflow@2.1.2',
    'ioredis@6.0.0',
    'kafkajs@2.2.4',
    'koa@3.2.1',
    'ky@2.1.0',
    'ldapts@9.2.0',
    'mariadb@3.5.4',
    'mongodb@7.8.0',
    'mqtt@5.16.0',
    'mysql2@3.24.5',
    'needle@3.5.0',
    'node-fetch@3.3.2',
    'nodemailer@10.4.0',
    'pg@8.23.1',
    'postgres@3.4.9',
    'redis@6.3.1',
    'reflect-metadata@0.2.2',
    'rxjs@7.8.2',
    'smtp-server@3.21.1',
    'socket.io@4.8.4',
    'socket.io-client@4.8.4',
    'superagent@10.4.2',
    'undici@8.12.4',
    'ws@8.22.2',
  ]);

/**
 * The drivers of one file in `test/pack/drivers`, and the Debian package of their server if it is a program. In the order of the table; groups
 * run side by side.
 */
export const GROUPS: Readonly<Record<string, Package | undefined>> = {
  https: undefined,
  realtime: undefined,
  tls: undefined,
  http2: undefined,
  postgresql: 'postgresql',
  mariadb: 'mariadb-server',
  redis: 'redis-server',
  rabbitmq: 'rabbitmq-server',
  mosquitto: 'mosquitto',
  nats: 'nats-server',
  slapd: 'slapd',
  dovecot: 'dovecot-imapd',
  smtp: undefined,
  mongodb: undefined,
  kafka: undefined,
  apis: undefined,
  servers: undefined,
};
