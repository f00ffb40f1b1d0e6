import { inParallel, type ObjectId } from '@handover/engine';
import { type Instant, second } from '@handover/material';
import type { CertManagerCertificate } from './kinds.ts';
import type { ExternallyHeldSecret } from './projections.ts';

/** Of one look: a tenant creates as many Certificates as it likes. */
const MOST_READS = 50;
const AT_ONCE = 10;
/** Of one other namespace in one round: what its tenants touch in a loop takes no more of the request rate. */
const MOST_OF_ANOTHER = 5;
/** A Secret of another namespace is not read again within this time. */
const AGAIN_MS = 10 * second;

interface Wanted {
  readonly id: ObjectId;
  readonly certificate: CertManagerCertificate;
}

interface Read {
  /** Of the Certificate: cert-manager writes its status after each change of its Secret. */
  readonly version: string;
  readonly secret: ExternallyHeldSecret | undefined;
  readonly at: Instant;
}

interface UnlabelledOptions {
  readonly get: (namespace: string, name: string) => Promise<ExternallyHeldSecret | undefined>;
  readonly now: () => Instant;
  /** A Secret of this namespace was read after the look that missed it. Undefined: every look waits for all reads. */
  readonly onRead: ((namespace: string) => void) | undefined;
}

/** Secrets of Certificates that the watch does not show: there is none yet, or cert-manager before 1.12 wrote it without a label. */
export class UnlabelledSecrets {
  readonly #options: UnlabelledOptions;
  readonly #read = new Map<ObjectId, Read>();
  #round: Promise<void> | undefined;

  constructor(options: UnlabelledOptions) {
    this.#options = options;
  }

  /**
   * Reads some of those that it does not know. Undefined: all of the namespace `own` are known now; else why some are not. Those of other
   * namespaces hold nothing up, and the look does not wait for them: a tenant that keeps changing its Certificates delays only what is seen of them.
   */
  async read(wanted: readonly Wanted[], own: string): Promise<string | undefined> {
    const unread = wanted.filter((one) => !this.#isKnown(one));
    const isOwn = ({ certificate }: Wanted): boolean => certificate.metadata.namespace === own;
    const others = unread.filter((one) => !isOwn(one));
    const ours = unread.filter(isOwn);
    const trouble = await this.#readAll(ours.slice(0, MOST_READS));
    if (this.#options.onRead === undefined) await this.#readAll(others.slice(0, MOST_READS - ours.length));
    else this.#readBeside(others, this.#options.onRead);
    const left = ours.filter((one) => !this.#isKnown(one)).length;
    if (left === 0) return undefined;
    return `${left} ${left === 1 ? 'Secret' : 'Secrets'} of Certificates could not be read yet${trouble === undefined ? '' : `: ${trouble}`}`;
  }

  /** Why one of them could not be read. */
  async #readAll(wanted: readonly Wanted[]): Promise<string | undefined> {
    let trouble: string | undefined;
    await inParallel(wanted, AT_ONCE, async ({ id, certificate }) => {
      const { namespace = '', resourceVersion = '' } = certificate.metadata;
      try {
        const secret = await this.#options.get(namespace, certificate.spec?.secretName ?? '');
        this.#read.set(id, { version: resourceVersion, secret, at: this.#options.now() });
      } catch (error) {
        trouble ??= error instanceof Error ? error.message : String(error);
      }
    });
    return trouble;
  }

  /** One round at a time, a few of each namespace. */
  #readBeside(others: readonly Wanted[], onRead: (namespace: string) => void): void {
    if (this.#round !== undefined) return;
    const now = this.#options.now();
    const counts = new Map<string, number>();
    const round = others.filter(({ id, certificate: { metadata } }) => {
      const { namespace = '' } = metadata;
      const count = counts.get(namespace) ?? 0;
      const last = this.#read.get(id)?.at;
      if (count >= MOST_OF_ANOTHER || (last !== undefined && now < last + AGAIN_MS)) return false;
      counts.set(namespace, count + 1);
      return true;
    });
    const some = round.slice(0, MOST_READS);
    if (some.length === 0) return;
    const namespaces = new Set(some.map(({ certificate }) => certificate.metadata.namespace ?? ''));
    this.#round = this.#readAll(some).then(() => {
      this.#round = undefined;
      for (const namespace of namespaces) onRead(namespace);
    });
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
