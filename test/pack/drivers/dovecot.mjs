import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImapFlow as AnyFlow } from 'imapflow';
import { eventually, freePort, newestClient, program, startProgram } from './world.mjs';

export const title = 'Dovecot';
/** Connections that are logging in. */
export const dropsAtReload = true;

class ImapFlow extends AnyFlow {
  constructor(options) {
    super({ ...options, logger: false });
    this.on('error', () => undefined);
  }
}

export const start = async (files, world) => {
  const { folder } = world;
  const port = await freePort();
  for (const name of ['run', 'state']) mkdirSync(join(folder, name), { mode: 0o755 });
  mkdirSync(join(folder, 'mail'));
  chmodSync(join(folder, 'mail'), 0o777); // of the user that Dovecot reads mail as
  const config = `
base_dir = ${join(folder, 'run')}
state_dir = ${join(folder, 'state')}
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = required
ssl_cert = <${join(files, 'tls.crt')}
ssl_key = <${join(files, 'tls.key')}
ssl_ca = <${join(files, 'ca.crt')}
ssl_require_crl = no
ssl_verify_client_cert = yes
auth_ssl_require_client_cert = yes
mail_location = maildir:${join(folder, 'mail')}
first_valid_uid = 1
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = uid=mail gid=mail home=${join(folder, 'mail')}
}
service imap-login {
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    port = ${port}
  }
}
`;
  writeFileSync(join(folder, 'dovecot.conf'), config);
  const server = startProgram(program('dovecot-imapd'), ['-F', '-c', join(folder, 'dovecot.conf')]);
  const auth = { user: 'someone', pass: 'any' };
  /** A login with the leaf of the newest CA: Dovecot has loaded it. */
  const login = async () => {
    const tls = newestClient(files, world);
    const client = new ImapFlow({ host: 'localhost', port, secure: true, auth, tls });
    await client.connect();
    await client.logout();
  };
  await eventually(login);
  const reload = async () => {
    const before = server.count('SIGHUP received');
    server.child.kill('SIGHUP');
    await server.said('SIGHUP received', before + 1);
    await eventually(login);
  };
  return { port, context: { auth }, reload, end: () => server.end() };
};

export const drivers = [
  {
    package: 'imapflow',
    call: ({ identity, host, port, auth }) =>
      new ImapFlow({ host, port, secure: true, auth, tls: identity.tlsOptions() }),
    ask: async (call, context) => {
      const client = call(context);
      await client.connect();
      try {
        const { path } = await client.status('INBOX', { messages: true });
        if (path !== 'INBOX') throw new Error('no INBOX');
      } finally {
        await client.logout();
      }
    },
  },
];
