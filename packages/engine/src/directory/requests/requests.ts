import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { AuthorityState } from '@handover/core';
import type { Asker } from '../../ledger/issued-entry.ts';
import type { Asked, Known } from '../../ledger/ledger.ts';
import type { AuthorityId, Request, RequestWriter } from '../../snapshot/home.ts';
import { checkRotationId } from '../../snapshot/rotation-id.ts';
import type { HomeClock, RequestReader, Requests } from '../../snapshot/snapshot.ts';
import { type Files, replaceFile } from '../disk/files.ts';

/** The user of this process; only the uid for an account without a name. */
export const userHere = (): Pick<Asker, 'user' | 'uid'> => {
  const uid = process.getuid?.();
  const number = uid === undefined ? {} : { uid };
  try {
    return { user: userInfo().username, ...number };
  } catch {
    return number;
  }
};

/** This process as histories name it. */
export const processHere = (): string => `process ${process.pid} on ${hostname()}`;

/** A request as its file holds it. */
interface Filed {
  readonly authority: AuthorityId;
  readonly rotate?: string;
  readonly distrust?: number;
  /** The user whose process asked. */
  readonly by?: Pick<Asker, 'user' | 'uid'>;
}

/** What people asked for, one file each, so that asking needs no lock. */
export class DirectoryRequests implements RequestReader, RequestWriter {
  readonly #files: Files;
  readonly #root: string;
  readonly #clock: HomeClock;

  constructor(files: Files, root: string, clock: HomeClock) {
    this.#files = files;
    this.#root = root;
    this.#clock = clock;
  }

  async ask(asked: Request): Promise<void> {
    const request: Filed = asked;
    checkRotationId(request.rotate);
    const known = this.#list().some(
      ([, found]) =>
        found.authority === request.authority &&
        found.rotate === request.rotate &&
        found.distrust === request.distrust,
    );
    if (known) return;
    await this.#files.makeDirectory(this.#root, 0o700);
    const name = `${String(this.#clock.now()).padStart(15, '0')}-${randomBytes(4).toString('hex')}.json`;
    await replaceFile(
      this.#files,
      this.#root,
      name,
      `${JSON.stringify({ ...request, by: userHere() })}\n`,
      0o600,
    );
  }

  /** An annotation in the YAML is no request of a command, and stays. */
  async drop(id: AuthorityId, state: AuthorityState | undefined): Promise<readonly string[]> {
    const dropped: string[] = [];
    for (const [path, { authority, rotate }] of this.#list()) {
      if (authority !== id || typeof rotate !== 'string' || state?.ids.includes(rotate) === true) continue;
      await this.#files.remove(path);
      dropped.push(rotate);
    }
    return dropped;
  }

  #list(): readonly (readonly [path: string, request: Filed])[] {
    const found: (readonly [string, Filed])[] = [];
    for (const name of [...this.#files.list(this.#root)].sort()) {
      if (!name.endsWith('.json') || name.startsWith('.')) continue;
      const bytes = this.#files.read(`${this.#root}/${name}`);
      if (bytes === undefined) continue;
      try {
        const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as Filed;
        if (typeof value?.authority === 'string') found.push([`${this.#root}/${name}`, value]);
      } catch {
        // Not ours, or not whole: no command can have said that it was accepted.
      }
    }
    return found;
  }

  async pending(id: AuthorityId): Promise<Requests> {
    const mine = this.#list()
      .map(([, request]) => request)
      .filter(({ authority }) => authority === id);
    return {
      rotate: mine.flatMap(({ rotate }) => (typeof rotate === 'string' ? [rotate] : [])),
      distrust: mine.flatMap(({ distrust }) => (typeof distrust === 'number' ? [distrust] : [])),
    };
  }

  /** The user that asked for a rotation or a distrust; what no command asked for, an annotation in the YAML did. */
  known(asked: Asked): Known {
    if (asked.kind === 'Leaf' || asked.kind === 'Authority') return {};
    const found = this.#list().find(
      ([, { authority, rotate, distrust }]) =>
        authority === asked.authority &&
        (asked.kind === 'rotate' ? rotate === asked.id : distrust === asked.generation),
    );
    if (found === undefined) return { askedBy: { via: 'annotation' } };
    const { user, uid } = found[1].by ?? {};
    return {
      askedBy: {
        via: 'request',
        ...(typeof user === 'string' ? { user: user.slice(0, 256) } : {}),
        ...(typeof uid === 'number' ? { uid } : {}),
      },
    };
  }

  async done(id: AuthorityId, state: AuthorityState): Promise<void> {
    for (const [path, { authority, rotate, distrust }] of this.#list()) {
      if (authority !== id) continue;
      const generation = state.generations.find(({ number }) => number === distrust);
      const rotated = rotate === undefined || state.ids.includes(rotate);
      const distrusted =
        distrust === undefined || generation === undefined || generation.role === 'distrusted';
      if (rotated && distrusted) await this.#files.remove(path);
    }
  }
}
