import { Worker } from 'node:worker_threads';
import type { Clock } from '@handover/material';
import { type Address, type Manner, type Running, Service } from './service.ts';

export interface Given {
  readonly name: string;
  readonly manner: Manner;
  readonly folder: string;
}

export type ServiceCall =
  | { readonly do: 'start' | 'restart' }
  | { readonly do: 'call'; readonly other: Address }
  | { readonly do: 'status'; readonly at: number };

export interface ServiceAnswer {
  readonly id: number;
  /** Changes with a restart. */
  readonly port: number;
  readonly result?: unknown;
  readonly problem?: string;
}

/** In its own thread: on a busy machine a single thread would get too small a share. */
class ThreadedService implements Running {
  readonly name: string;
  port = 0;
  readonly #worker: Worker;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #last = 0;
  #ended: Error | undefined;

  constructor(given: Given) {
    this.name = given.name;
    this.#worker = new Worker(new URL('./service-thread.js', import.meta.url), { workerData: given });
    this.#worker.on('message', ({ id, port, result, problem }: ServiceAnswer) => {
      this.port = port;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (problem === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(problem));
    });
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new Error(`${given.name} has ended`)));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }

  #ask(asked: ServiceCall): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...asked, id });
    });
  }

  async start(): Promise<void> {
    await this.#ask({ do: 'start' });
  }

  async restart(): Promise<void> {
    await this.#ask({ do: 'restart' });
  }

  async call({ name, port }: Address): Promise<string | undefined> {
    try {
      return (await this.#ask({ do: 'call', other: { name, port } })) as string | undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async status(at: number): Promise<object> {
    return (await this.#ask({ do: 'status', at })) as object;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

export const newService = (name: string, manner: Manner, folder: string, clock: Clock): Running =>
  // Tests run from source, which a plain worker cannot load.
  import.meta.url.endsWith('.ts')
    ? new Service(name, manner, folder, clock)
    : new ThreadedService({ name, manner, folder });
