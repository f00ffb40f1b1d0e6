import { RuntimeError } from '../error.ts';
import type { StatusOptions } from '../status/server.ts';

/** The environment variables of `@handover/runtime/register`. */
export interface Settings {
  readonly ca: string | undefined;
  /** True: the public roots are not trusted. */
  readonly caOnly: boolean;
  readonly identity: { readonly cert: string; readonly key: string } | undefined;
  readonly profile: string | undefined;
  readonly status: Pick<StatusOptions, 'port' | 'socket' | 'file' | 'podUid'> | undefined;
}

const refused = (message: string) => new RuntimeError('OPTION_INVALID', message);

/** `8081`, `unix:/run/app/status.sock`, or the path of a file. */
function statusOf(text: string): Pick<StatusOptions, 'port' | 'socket' | 'file'> {
  if (/^\d+$/.test(text)) return { port: Number(text) };
  if (text.startsWith('unix:/')) return { socket: text.slice('unix:'.length) };
  if (text.startsWith('/')) return { file: text };
  throw refused(`HANDOVER_STATUS must be a port, unix:/path or /path, got ${text}`);
}

/** Undefined when the environment names no file: the program then runs as it would without us. */
export function settingsFrom(env: Readonly<Record<string, string | undefined>>): Settings | undefined {
  const read = (name: string) => env[`HANDOVER_${name}`] || undefined;
  const [ca, cert, key] = [read('CA'), read('CERT'), read('KEY')];
  const [profile, status, only] = [read('PROFILE'), read('STATUS'), read('CA_ONLY')];
  if (cert !== undefined && key === undefined)
    throw refused('HANDOVER_CERT is set without HANDOVER_KEY; set both');
  if (key !== undefined && cert === undefined)
    throw refused('HANDOVER_KEY is set without HANDOVER_CERT; set both');
  if (only !== undefined && only !== 'true') throw refused(`HANDOVER_CA_ONLY must be true, got ${only}`);
  if (only !== undefined && ca === undefined)
    throw refused('HANDOVER_CA_ONLY is set without HANDOVER_CA; set both');
  if (ca === undefined && cert === undefined && profile === undefined) {
    if (status === undefined) return undefined;
    throw refused(
      'HANDOVER_STATUS is set, and no file to show: set HANDOVER_CA, or HANDOVER_CERT and HANDOVER_KEY',
    );
  }
  const podUid = env.POD_UID;
  return {
    ca,
    caOnly: only !== undefined,
    identity: cert === undefined || key === undefined ? undefined : { cert, key },
    profile,
    status:
      status === undefined ? undefined : { ...statusOf(status), ...(podUid === undefined ? {} : { podUid }) },
  };
}
