import { type ConfigMap, configMaps, type Kube, type Secret, secrets } from '../src/index.ts';

export interface Written {
  readonly kind: 'configmaps' | 'secrets';
  readonly name: string;
}

/** Creates, changes and deletes objects, one after another, until it is paused. Waits while the server is away. */
export class Writer {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #count: number;
  #going: Promise<void> | undefined;
  #stop = false;
  #n = 0;
  /** Writes that the server has confirmed. */
  done = 0;

  constructor(kube: Kube, namespace: string, count: number) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#count = count;
  }

  start(): void {
    this.#stop = false;
    this.#going = this.#run();
  }

  async pause(): Promise<void> {
    this.#stop = true;
    await this.#going;
  }

  async #run(): Promise<void> {
    while (!this.#stop) {
      try {
        await this.#one(this.#n++);
        this.done++;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #one(n: number): Promise<void> {
    const namespace = this.#namespace;
    const name = `o${(n * 7) % this.#count}`;
    const value = String(n);
    if (n % 5 === 0) {
      await this.#kube.delete(configMaps, { namespace, name });
      return;
    }
    const part = n % 3 === 0 ? 'x' : 'y';
    const metadata = { name, namespace, labels: { in: 'test', part } };
    const kind = n % 2 === 0 ? configMaps : secrets;
    const body = kind === configMaps ? { data: { value } } : { stringData: { value } };
    await this.#kube.patch<ConfigMap & Secret>(
      kind,
      { namespace, name },
      { apply: { metadata, ...body }, fieldManager: 'writer', force: true },
    );
  }
}
