import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Attribute, Change, Client } from 'ldapts';
import { eventually, freePort, program, startProgram } from './world.mjs';

export const title = 'OpenLDAP';

export const start = async (files, { folder }) => {
  const [port, plain] = [await freePort(), await freePort()];
  const tls = { CertificateFile: 'tls.crt', CertificateKeyFile: 'tls.key', CACertificateFile: 'ca.crt' };
  const lines = [
    'include /etc/ldap/schema/core.schema',
    ...Object.entries(tls).map(([name, file]) => `TLS${name} ${join(files, file)}`),
    'TLSVerifyClient demand',
    'database config',
    'rootpw for-this-test',
  ];
  mkdirSync(join(folder, 'ldap'));
  writeFileSync(join(folder, 'ldap/slapd.conf'), `${lines.join('\n')}\n`);
  const listeners = `ldap://127.0.0.1:${plain} ldaps://127.0.0.1:${port}`;
  const server = startProgram(program('slapd'), [
    '-d',
    'none',
    '-f',
    join(folder, 'ldap/slapd.conf'),
    '-h',
    listeners,
  ]);
  const admin = new Client({ url: `ldap://127.0.0.1:${plain}` });
  await eventually(() => admin.bind('cn=config', 'for-this-test'));
  /** All in one change: slapd then makes its TLS context anew. */
  const reload = async () => {
    const changes = Object.entries(tls).map(
      ([name, file]) =>
        new Change({
          operation: 'replace',
          modification: new Attribute({ type: `olcTLS${name}`, values: [join(files, file)] }),
        }),
    );
    await admin.modify('cn=config', changes);
  };
  const end = async () => {
    await admin.unbind();
    await server.end();
  };
  return { port, context: { url: `ldaps://localhost:${port}` }, reload, end };
};

export const drivers = [
  {
    package: 'ldapts',
    make: ({ identity, url }) => new Client({ url, tlsOptions: identity.tlsOptions() }),
    ask: async (client) => {
      try {
        const { searchEntries } = await client.search('', { scope: 'base', attributes: ['namingContexts'] });
        if (searchEntries.length !== 1) throw new Error('no root entry');
      } finally {
        await client.unbind(); // each request is a new connection
      }
    },
  },
];
