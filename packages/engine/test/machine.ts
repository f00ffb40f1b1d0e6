import { day, instant, minute, parseCertificates, verifyChain } from '@handover/material';
import { diskFiles, passOnce, SteadyClock, statusOf } from '../src/index.ts';
import { type Directories, loaded, visible } from './directories.ts';

export const ID = 'default/mesh';
const START = Date.UTC(2030, 0, 1);

/** A directory on a machine whose clock can be set, and whose time since boot cannot. */
export class Machine {
  readonly path: string;
  readonly #directories: Directories;
  /** How far the clock is ahead. */
  ahead = 0;
  #true = START;
  #boot = START - day;

  constructor(directories: Directories) {
    this.#directories = directories;
    this.path = directories.make();
  }

  /** A new process each time, as from cron. */
  home() {
    const clock = new SteadyClock(
      diskFiles,
      `${this.path}/state`,
      () => this.#true + this.ahead,
      () => this.#true - this.#boot,
    );
    return this.#directories.home(this.path, undefined, { clock });
  }

  pass(ms: number): void {
    this.#true += ms;
  }

  /** Off for this long, then booted again. */
  reboot(off: number): void {
    this.#true += off;
    this.#boot = this.#true - minute;
  }

  get now() {
    return instant(this.#true);
  }

  async run(): Promise<string | undefined> {
    const home = this.home();
    const lock = await home.lock();
    try {
      await passOnce(home, home.load(), () => {});
      return undefined;
    } catch (error) {
      return (error as { code?: string }).code;
    } finally {
      await lock.release();
    }
  }

  async state() {
    const state = (await this.home().authorities.load(ID))?.state;
    if (state === undefined) throw new TypeError('no authority');
    return state;
  }

  async status() {
    const home = this.home();
    const [authority] = (await statusOf(loaded(home).fresh)).authorities;
    if (authority === undefined) throw new TypeError('no authority');
    return authority;
  }

  /** Leaves that a peer with the right time refuses with any of the bundles. */
  refused(): string[] {
    const { chains, bundles } = visible(this.path);
    const read = (pem: string) => parseCertificates(pem).certificates;
    return [...chains].flatMap(([leaf, chain]) =>
      [...bundles].flatMap(([bundle, anchors]) => {
        const asked = {
          chain: read(chain),
          anchors: read(anchors),
          at: this.now,
          purpose: 'server',
        } as const;
        const verdict = verifyChain(asked);
        return verdict.ok ? [] : [`${bundle} refuses ${leaf}: ${verdict.reason}`];
      }),
    );
  }
}
