// What needs an optional peer; compiled and never run.
import { type ChannelCredentials, Server } from '@grpc/grpc-js';
import { openIdentity, openTrust } from '@handover/runtime';
import { credentials, type ServerCredentialsOptions, serverCredentials } from '@handover/runtime/grpc';
import { dispatcher } from '@handover/runtime/undici';
import { request } from 'undici';

export async function call(options: ServerCredentialsOptions): Promise<ChannelCredentials> {
  const trust = await openTrust('ca.crt');
  const identity = await openIdentity({ cert: 'tls.crt', key: 'tls.key' });
  await request('https://billing.mesh.svc/', { dispatcher: trust.dispatcher({ connections: 8 }) });
  await request('https://billing.mesh.svc/', { dispatcher: dispatcher(identity, { connections: 8 }) });
  // @ts-expect-error certificates are not the caller's to choose
  trust.dispatcher({ connect: { ca: 'text' } });
  // @ts-expect-error undici has no such option
  trust.dispatcher({ nothing: true });
  new Server().bindAsync('0.0.0.0:443', serverCredentials(identity, options), () => undefined);
  // @ts-expect-error trust, not a path
  credentials('ca.crt');
  return credentials(trust, identity);
}
