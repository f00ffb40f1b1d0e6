import type { Resource } from '@handover/core';
import { type CertgenHome, openCertgen } from '@handover/operator';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';
import { issuedLine } from '../event-log.ts';
import { createLog } from '../log.ts';
import { connectKube, type KubeFlags, podNamespace } from './connect.ts';

/** The limit for a request that hangs; Kubernetes retries the Job. */
const REQUEST_MS = 10_000;

export interface CertgenFlags extends KubeFlags {
  readonly operatorNamespace?: string;
}

/** Namespace of the state: the flag, else the Job's own namespace, else that of the authorities. */
const stateNamespace = (flags: CertgenFlags, resources: readonly Resource[]): string => {
  const said = flags.operatorNamespace ?? podNamespace();
  if (said !== undefined) return said;
  const homes = new Set(
    resources.flatMap((resource) => (resource.kind === 'Authority' ? [resource.metadata.namespace] : [])),
  );
  const [first, ...others] = homes;
  if (first === undefined) throw usageError('the file declares no Authority; add one');
  if (others.length > 0)
    throw usageError(
      `the Authorities are in ${homes.size} namespaces; give --operator-namespace for their state`,
    );
  return first;
};

/** Opens a cluster for one run. */
export async function openCertgenHome(
  flags: CertgenFlags,
  resources: readonly Resource[],
  takesOver: boolean,
  context: Pick<Context, 'stderr' | 'clock'>,
): Promise<CertgenHome & { close(): void }> {
  const namespace = stateNamespace(flags, resources);
  const end = new AbortController();
  try {
    const { kube } = await connectKube(flags, end.signal, { timeout: REQUEST_MS, clock: context.clock });
    // A Job's log has both streams; stdout is the result.
    const log = createLog({
      level: 'info',
      write: (line) => context.stderr.write(line),
      now: () => context.clock.now(),
    });
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
