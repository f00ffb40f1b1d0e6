import { inParallel, type ObjectId } from '@handover/engine';
import type { CertManagerCertificate } from './kinds.ts';
import type { ExternallyHeldSecret } from './projections.ts';

/** Of one look: a tenant creates as many Certificates as it likes. */
const MOST_READS = 50;
const AT_ONCE = 10;

export interface Wanted {
  readonly id: ObjectId;
  readonly certificate: CertManagerCertificate;
}

interface Read {
  /** Of the Certificate: cert-manager writes its status after each change of its Secret. */
  readonly version: string;
  readonly secret: ExternallyHeldSecret | undefined;
}

/** Secrets of Certificates that the watch does not show: there is none yet, or cert-manager before 1.12 wrote it without a label. */
export class UnlabelledSecrets {
  readonly #get: (namespace: string, name: string) => Promise<ExternallyHeldSecret | undefined>;
  readonly #read = new Map<ObjectId, Read>();

  constructor(get: (namespace: string, name: string) => Promise<ExternallyHeldSecret | undefined>) {
    this.#get = get;
  }

  /**
   * Reads some of those that it does not know, in this order. Undefined: all of the namespace `own` are known now; else why some are not. Those of
   * other namespaces hold nothing up: a tenant that keeps changing its Certificates delays only what is seen of them.
   */
  async read(wanted: readonly Wanted[], own: string): Promise<string | undefined> {
    const unread = wanted.filter((one) => !this.#isKnown(one));
    let trouble: string | undefined;
    await inParallel(unread.slice(0, MOST_READS), AT_ONCE, async ({ id, certificate }) => {
      const { namespace = '', resourceVersion = '' } = certificate.metadata;
      try {
        const secret = await this.#get(namespace, certificate.spec?.secretName ?? '');
        this.#read.set(id, { version: resourceVersion, secret });
      } catch (error) {
        trouble ??= error instanceof Error ? error.message : String(error);
      }
    });
    const left = unread.filter(
      (one) => one.certificate.metadata.namespace === own && !this.#isKnown(one),
    ).length;
    if (left === 0) return undefined;
    return `${left} ${left === 1 ? 'Secret' : 'Secrets'} of Certificates could not be read yet${trouble === undefined ? '' : `: ${trouble}`}`;
  }

  of(id: ObjectId): ExternallyHeldSecret | undefined {
    return this.#read.get(id)?.secret;
  }

  /** Forgets Secrets that no Certificate asks for. */
  retain(ids: ReadonlySet<ObjectId>): void {
    for (const id of this.#read.keys()) if (!ids.has(id)) this.#read.delete(id);
  }

  #isKnown({ id, certificate }: Wanted): boolean {
    return this.#read.get(id)?.version === (certificate.metadata.resourceVersion ?? '');
  }
}
