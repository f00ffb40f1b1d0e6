import type { Define } from './context.ts';

export interface CommandEntry {
  /** One line for `handover --help`. */
  readonly summary: string;
  /** Its file is read only when the command is called: `handover --version` should not pay for a simulator. */
  readonly load: () => Promise<{ readonly define: Define }>;
}

/** Every command there is. A new one is a file in commands/ and a line here. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  inspect: {
    summary: 'what is in PEM files: chain, dates, names, key ids, fingerprints, and what looks wrong',
    load: () => import('./commands/inspect.ts'),
  },
  simulate: {
    summary: 'rotate a fleet in virtual time and count the handshakes that fail',
    load: () => import('./commands/simulate.ts'),
  },
};
