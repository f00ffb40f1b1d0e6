import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MockCa } from '../../../packages/runtime/test/mock-ca.ts';

export const cas = [new MockCa('one'), new MockCa('two'), new MockCa('three')] as const;
export const leaves = cas.map((ca) => ca.leaf());

/** Three CAs, and of each a leaf for a server and one for a client, for a program in a process of its own. */
export const WORLD = {
  WORLD: JSON.stringify({
    cas: cas.map(({ pem }) => pem),
    leaves,
    clients: cas.map((ca) => ca.leaf({ name: 'client' })),
  }),
};

/** A folder with ca.crt, tls.crt and tls.key; each file is replaced by a rename. */
export class Files {
  readonly folder: string;

  constructor(parent: string, ca = cas[0].pem, leaf = leaves[0]) {
    mkdirSync(parent, { recursive: true });
    this.folder = mkdtempSync(join(parent, 'files-'));
    this.put({ 'ca.crt': ca, 'tls.crt': leaf?.cert ?? '', 'tls.key': leaf?.key ?? '' });
  }

  put(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(this.path(`${name}.tmp`), text);
      renameSync(this.path(`${name}.tmp`), this.path(name));
    }
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** The environment of `@handover/runtime/register` for these files. */
  get env(): Readonly<Record<string, string>> {
    return {
      HANDOVER_CA: this.path('ca.crt'),
      HANDOVER_CERT: this.path('tls.crt'),
      HANDOVER_KEY: this.path('tls.key'),
    };
  }
}
