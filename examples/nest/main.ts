// Nest over TLS whose certificate and key follow their files. Compile with `experimentalDecorators`.
//   TLS_DIR=/etc/tls PORT=8443 STATUS_PORT=8081 node main.js
import 'reflect-metadata';
import { openIdentity, serveStatus } from '@handover/runtime';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

@Controller()
class HelloController {
  @Get()
  hello() {
    return { hello: 'nest' };
  }
}

@Module({ controllers: [HelloController] })
class AppModule {}

const { TLS_DIR = '/etc/tls', PORT = '8443', STATUS_PORT = '8081' } = process.env;

const identity = await openIdentity({ cert: `${TLS_DIR}/tls.crt`, key: `${TLS_DIR}/tls.key` });
const app = await NestFactory.create(AppModule, { httpsOptions: {}, logger: false });
identity.serve(app.getHttpServer());
await app.listen(Number(PORT));
const status = await serveStatus({ port: Number(STATUS_PORT), sources: [identity] });
console.log(`listening on ${app.getHttpServer().address().port}, status on ${status.port}`);
