import {
  apiServices,
  Informer,
  type Kube,
  type KubeObject,
  type ResourceKind,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { API, WEBHOOK } from './scene.ts';

interface Shape {
  readonly spec?: { readonly caBundle?: string };
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

const bundleIn = (object: KubeObject | undefined): string => {
  const { spec, webhooks } = (object ?? {}) as Shape;
  const text = webhooks?.[0]?.clientConfig.caBundle ?? spec?.caBundle ?? '';
  return Buffer.from(text, 'base64').toString('utf8');
};

/** From when to when a field lacked our CA. */
export interface Lapse {
  readonly field: string;
  readonly from: number;
  readonly to: number;
}

/** Watches both caBundle fields independently of the operator. */
export class Fields {
  readonly lapses: Lapse[] = [];
  /** The CA that must be in them; undefined: none yet. */
  ours: string | undefined;
  readonly #open = new Map<string, number>();
  readonly #informers: readonly Informer<KubeObject>[];

  constructor(kube: Kube) {
    const follow = (kind: ResourceKind, name: string): Informer<KubeObject> => {
      const informer = new Informer<KubeObject>(kube, kind, { fieldSelector: `metadata.name=${name}` });
      informer.on('changed', ({ after }) => this.#saw(kind.plural, bundleIn(after)));
      return informer;
    };
    this.#informers = [follow(apiServices, API), follow(validatingWebhookConfigurations, WEBHOOK)];
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.start(signal).ready));
  }

  /** What both hold now. */
  now(): readonly string[] {
    return this.#informers.map((informer) => bundleIn(informer.list()[0]));
  }

  #saw(field: string, bundle: string): void {
    if (this.ours === undefined) return;
    const began = this.#open.get(field);
    if (!bundle.includes(this.ours)) {
      if (began === undefined) this.#open.set(field, Date.now());
      return;
    }
    if (began === undefined) return;
    this.#open.delete(field);
    this.lapses.push({ field, from: began, to: Date.now() });
  }
}
