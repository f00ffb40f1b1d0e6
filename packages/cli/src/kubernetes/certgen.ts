import type { Resource } from '@handover/core';
import { type CertgenHome, openCertgen } from '@handover/operator';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';
import { issuedLine } from '../event-log.ts';
import { createLog } from '../log.ts';
import { connectKube, podNamespace } from './connect.ts';
import type { KubeFlags } from './flags.ts';

/** A request that hangs is given up after this; a Job is tried again. */
const REQUEST_MS = 10_000;

export interface CertgenFlags extends KubeFlags {
  readonly operatorNamespace?: string;
}

/** Where state lies: what is said, else the Job's own namespace, else that of the authorities. */
const stateNamespace = (flags: CertgenFlags, resources: readonly Resource[]): string => {
  const said = flags.operatorNamespace ?? podNamespace();
  if (said !== undefined) return said;
  const homes = new Set(
    resources.flatMap((resource) => (resource.kind === 'Authority' ? [resource.metadata.namespace] : [])),
  );
  const [first, ...others] = homes;
  if (first === undefined) throw usageError('the file declares no Authority; declare one');
  if (others.length > 0)
    throw usageError(`authorities of ${homes.size} namespaces; say --operator-namespace for their state`);
  return first;
};

/** Opens a cluster for one run. */
export async function openCertgenHome(
  flags: CertgenFlags,
  resources: readonly Resource[],
  takesOver: boolean,
  context: Pick<Context, 'stderr' | 'now'>,
): Promise<CertgenHome & { close(): void }> {
  const namespace = stateNamespace(flags, resources);
  const end = new AbortController();
  try {
    const { kube } = await connectKube(flags, end.signal, { timeout: REQUEST_MS });
    // The pod's log of a Job has both; stdout is the answer.
    const log = createLog({ level: 'info', write: (line) => context.stderr.write(line), now: context.now });
    const opened = await openCertgen({
      kube,
      namespace,
      resources,
      takesOver,
      onIssued: (entry) => log.info(issuedLine(entry)),
      signal: end.signal,
    });
    return { ...opened, close: () => end.abort() };
  } catch (error) {
    end.abort();
    throw error;
  }
}
