import { isMap } from '@handover/material';
import { documentIn } from '../../../packages/engine/src/evidence/document-schema.ts';
import { eventually } from '../../../test/api-server/src/eventually.ts';
import { temporaryFolder } from '../../../test/api-server/src/temporary-folder.ts';
import type { Case, Connect, Dial, Files, Repeat, Shows, Step } from './case.ts';
import { Driver } from './driver.ts';
import { Folder } from './folder.ts';
import { Material } from './material.ts';
import { connect, type Met, Servers, type Sessions } from './peers.ts';

/** How often a client that polls is to look; one that watches looks at once. */
const POLL_MS = 100;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const numbered = (files: Files, n: number): Files =>
  JSON.parse(JSON.stringify(files).replaceAll('{n}', `${n}`));

function judge({ seen, resumed, why }: Met, step: Connect | Dial, material: Material): void {
  const said = JSON.stringify(step);
  if (step.refused === true) {
    if (seen !== undefined)
      throw new Error(`${said}: it should be refused, and worked${resumed ? ' by a resumed session' : ''}`);
    return;
  }
  if (seen === undefined) throw new Error(`${said}: it should work, and was refused: ${why}`);
  if (step.seen !== undefined && seen !== material.fingerprint(step.seen))
    throw new Error(`${said}: the other end showed ${seen}`);
}

/** One case, played to one client. */
class Play {
  readonly #material: Material;
  readonly #folder: Folder;
  readonly #driver: Driver;
  readonly #sessions: Sessions = new Map();
  readonly #servers: Servers;
  #status = 0;
  #server = 0;

  constructor(one: Case, command: readonly string[]) {
    this.#material = new Material(JSON.stringify(one));
    this.#folder = new Folder(`${temporaryFolder()}/mesh`, this.#material);
    this.#driver = new Driver(command);
    this.#servers = new Servers(this.#material);
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.#folder.make();
    try {
      for (const [index, step] of steps.entries()) {
        await this.#step(step).catch((cause: unknown) => {
          throw new Error(`step ${index + 1}: ${cause instanceof Error ? cause.message : cause}`, { cause });
        });
      }
    } finally {
      this.#driver.end();
      await this.#servers.close();
    }
  }

  #step(step: Step): Promise<void> {
    if ('swap' in step) return this.#folder.swap(step.swap);
    if ('rename' in step) return this.#folder.rename(step.rename);
    if ('write' in step) return this.#folder.write(step.write);
    if ('pipe' in step) return this.#folder.pipe(step.pipe);
    if ('folder' in step) return step.folder === 'make' ? this.#folder.make() : this.#folder.remove();
    if ('open' in step) return this.#open(step.open);
    if ('shows' in step) return this.#shows(step.shows);
    if ('connect' in step) return this.#connect(step.connect);
    if ('dial' in step) return this.#dial(step.dial);
    if ('repeat' in step) return this.#repeat(step.repeat);
    throw new Error(`cases.json: no step is called ${Object.keys(step satisfies never)}`);
  }

  async #open(end: string): Promise<void> {
    const {
      ok,
      code,
      status = 0,
      server = 0,
    } = await this.#driver.ask({
      do: 'open',
      dir: this.#folder.path,
      pollMs: POLL_MS,
    });
    const was = ok === true ? 'works' : code;
    if (was !== end) throw new Error(`opening gave ${was}, not ${end}`);
    this.#status = status;
    this.#server = server;
  }

  /** The document must be evidence, as Handover reads it, and say what the case says. */
  async #shows(expected: Shows): Promise<void> {
    let last = '';
    await eventually(async () => {
      const answer = await fetch(`http://127.0.0.1:${this.#status}/handover/status`);
      last = await answer.text();
      return this.#differs(last, expected) === undefined;
    }, 30_000).catch(() => {
      throw new Error(`${JSON.stringify(expected)}: ${this.#differs(last, expected)}; it shows ${last}`);
    });
  }

  #differs(text: string, { leaf, chain, anchors, failure, loads }: Shows): string | undefined {
    const document = documentIn(text, Date.now());
    if (typeof document === 'string') return `the document ${document}`;
    const [source] = document.sources;
    const raw: unknown = JSON.parse(text).sources[0];
    if (source === undefined || !isMap(raw)) return 'there is no source';
    if (source.leaf?.fingerprint !== this.#material.fingerprint(leaf)) return 'another leaf';
    if (source.leaf.issuerKeyId === undefined) return 'no issuerKeyId';
    const behind = chain?.map((part) => this.#material.fingerprint(part));
    const said = source.leaf.chain;
    if (behind !== undefined && said !== undefined && said.join() !== behind.join()) return 'another chain';
    const wanted = anchors.map((anchor) => this.#material.fingerprint(anchor)).sort();
    if (JSON.stringify([...(source.anchors ?? [])].sort()) !== JSON.stringify(wanted)) return 'other CAs';
    const { lastFailure } = raw;
    const code = isMap(lastFailure) ? lastFailure.code : undefined;
    if (code !== failure) return `lastFailure is ${code}`;
    const [least, most] = loads ?? [1, Number.POSITIVE_INFINITY];
    return Number(raw.loads) >= least && Number(raw.loads) <= most ? undefined : 'another number of loads';
  }

  async #connect(step: Connect): Promise<void> {
    judge(await connect(this.#server, step, this.#material, this.#sessions), step, this.#material);
  }

  async #dial(step: Dial): Promise<void> {
    let ok: boolean | undefined;
    const met = await this.#servers.during(step, async (port) => {
      ({ ok } = await this.#driver.ask({ do: 'dial', port }));
    });
    judge(met, step, this.#material);
    if ((ok === true) === (step.refused === true))
      throw new Error(`${JSON.stringify(step)}: the client says ok: ${ok}`);
  }

  async #repeat({ times, everyMs, swap, meanwhile }: Repeat): Promise<void> {
    let over = false;
    const connecting = (async () => {
      while (!over) {
        await this.#connect(meanwhile);
        await pause(5);
      }
    })();
    connecting.catch(() => {}); // awaited below
    for (let n = 1; n <= times; n++) {
      await this.#folder.swap(numbered(swap, n));
      await pause(everyMs);
    }
    over = true;
    await connecting;
  }
}

/** Plays a case to the client that the command starts. Throws with the step that it does not keep. */
export const play = (one: Case, command: readonly string[]): Promise<void> =>
  new Play(one, command).run(one.steps);
