import { subjectOf } from './answer.ts';
import { isCode } from './error.ts';
import type { CallOptions } from './requests.ts';
import { type Session, statusIn } from './session.ts';

const REMEMBER_MS = 60_000;

interface Known {
  readonly at: number;
  readonly resources: Promise<ReadonlySet<string>>;
}

/** The kinds that the server has, by group and version. */
export class Discovery {
  readonly #session: Session;
  readonly #known = new Map<string, Known>();

  constructor(session: Session) {
    this.#session = session;
  }

  async serves(group: string, version: string, plural: string, options: CallOptions): Promise<boolean> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const known = this.#known.get(path);
    if (known !== undefined && this.#session.clock.monotonic() - known.at < REMEMBER_MS) {
      return (await known.resources).has(plural);
    }
    const resources = this.#ask(path, group, version, options);
    this.#known.set(path, { at: this.#session.clock.monotonic(), resources });
    resources.catch(() => this.#known.delete(path));
    return (await resources).has(plural);
  }

  async #ask(
    path: string,
    group: string,
    version: string,
    { signal, timeout }: CallOptions,
  ): Promise<ReadonlySet<string>> {
    try {
      const { body } = await this.#session.send({
        subject: subjectOf('discover', { group, version, plural: '' }, {}),
        method: 'GET',
        path,
        signal,
        timeout,
      });
      const { resources } = statusIn(body) as { resources?: readonly { readonly name?: string }[] };
      return new Set((resources ?? []).map(({ name }) => name ?? ''));
    } catch (error) {
      if (isCode(error, 'KUBE_NOT_FOUND')) return new Set();
      throw error;
    }
  }
}
