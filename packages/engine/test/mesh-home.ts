import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { instant } from '@handover/material';
import type { TestClock } from '@handover/test-api-server';
import { beforeEach } from 'vitest';
import {
  type AuthorityOutcome,
  type AuthorityRecord,
  Canaries,
  converge,
  type DirectoryHome,
  localKeyring,
  type ProbeTools,
} from '../src/index.ts';
import { Directories, loaded } from './directories.ts';
import { statusText } from './status-text.ts';
import { dealKey, MESH } from './world.ts';

export const MESH_ID = 'default/mesh';

/** Authority mesh with these consumers and Leaves a and b. `ofLeafA`: more fields of Leaf a. */
export const meshYaml = (consumers: string, ofLeafA = ''): string =>
  MESH.replace('{lifetime: 1y,', `{lifetime: 1y, consumers: [${consumers}],`).replace(
    'dnsNames: [a.local]',
    `dnsNames: [a.local]${ofLeafA}`,
  );

/** Homes of one test file with Authority mesh, whose certificates are dated by real time: real handshakes judge them. */
export class MeshHomes extends Directories {
  readonly probeTools: ProbeTools = {
    clock: this.clock,
    canaries: new Canaries({
      keyring: localKeyring(dealKey),
      keys: dealKey,
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
      log: { issued: async () => {} },
    }),
  };

  constructor() {
    super();
    beforeEach(() => {
      this.now = instant(Date.now());
    });
  }

  mesh(consumers: string, ofLeafA = ''): DirectoryHome {
    return this.home(this.make(meshYaml(consumers, ofLeafA)));
  }
}

/** Until there is nothing to do; time passes as far as it is waited for. */
export const pass = (home: DirectoryHome): Promise<AuthorityOutcome> =>
  (home.timers as TestClock).during(converge(loaded(home), MESH_ID));

/** A file of a Leaf's Secret. */
export const secret = ({ out }: DirectoryHome, leaf: string, file: string): string =>
  readFileSync(join(out, 'default/secrets', leaf, file), 'utf8');

/** Chain and key of a Leaf. */
export const pairOf = (home: DirectoryHome, leaf: string): { cert: string; key: string } => ({
  cert: secret(home, leaf, 'tls.crt'),
  key: secret(home, leaf, 'tls.key'),
});

/** What a process that loaded the files of this Leaf would say of itself. */
export const documentOf = (home: DirectoryHome, leaf: string, at = home.clock.now()): string =>
  statusText(secret(home, leaf, 'ca.crt'), secret(home, leaf, 'tls.crt'), at);

export const recordOf = async (home: DirectoryHome): Promise<AuthorityRecord> =>
  (await home.authorities.load(MESH_ID)) as AuthorityRecord;
