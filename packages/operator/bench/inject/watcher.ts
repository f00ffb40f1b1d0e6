import {
  customResourceDefinitions,
  Informer,
  type Kube,
  type KubeObject,
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '@handover/kube';

const KINDS = [validatingWebhookConfigurations, mutatingWebhookConfigurations, customResourceDefinitions];

interface Seen {
  readonly bundle: string;
  readonly at: number;
}

const bundleIn = (object: KubeObject): string | undefined => {
  if (!/^bench/.test(object.metadata.name ?? '')) return undefined;
  const { webhooks, spec } = object as unknown as {
    webhooks?: { clientConfig: { caBundle?: string } }[];
    spec?: { conversion?: { webhook?: { clientConfig?: { caBundle?: string } } } };
  };
  const value =
    webhooks?.[0]?.clientConfig.caBundle ?? spec?.conversion?.webhook?.clientConfig?.caBundle ?? '';
  return Buffer.from(value, 'base64').toString('utf8');
};

/** Watches every caBundle independently, and notes when it saw each change. */
export class Watcher {
  readonly #informers: readonly Informer<KubeObject, Seen>[];
  readonly #waiting = new Set<() => void>();

  constructor(kube: Kube, signal: AbortSignal) {
    this.#informers = KINDS.map((kind) => {
      const informer = new Informer<KubeObject, Seen>(kube, kind, {
        project: (object) => {
          const bundle = bundleIn(object);
          return bundle === undefined ? undefined : { bundle, at: performance.now() };
        },
      });
      informer.on('changed', () => {
        for (const look of this.#waiting) look();
      });
      return informer.start(signal);
    });
  }

  get ready(): Promise<unknown> {
    return Promise.all(this.#informers.map(({ ready }) => ready));
  }

  #all(): Seen[] {
    return this.#informers.flatMap((informer) => informer.list());
  }

  count(text: string): number {
    return this.#all().filter(({ bundle }) => bundle.includes(text)).length;
  }

  get size(): number {
    return this.#informers.reduce((sum, { size }) => sum + size, 0);
  }

  seen(name: string): Seen | undefined {
    for (const informer of this.#informers) {
      const found = informer.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Waits, event by event, until `done` returns a time. */
  until(done: () => number | undefined, ms: number, what: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const at = done();
        if (at === undefined) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(at);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`not within ${ms} ms: ${what}`));
      }, ms);
      this.#waiting.add(look);
      look();
    });
  }

  /** When the last object got `text`. */
  async allHold(text: string, ms: number): Promise<number> {
    let known = 0;
    let since = performance.now();
    const complete = (): number | undefined => {
      // Counting all objects at each of thousands of events would dominate the measurement.
      if (performance.now() - since < 20 && known !== 0) return undefined;
      since = performance.now();
      known = this.count(text);
      return known === this.size ? Math.max(...this.#all().map(({ at }) => at)) : undefined;
    };
    const ticking = setInterval(() => {
      for (const look of this.#waiting) look();
    }, 25);
    try {
      return await this.until(complete, ms, `every object to hold it (${known} of ${this.size} do)`);
    } finally {
      clearInterval(ticking);
    }
  }
}
