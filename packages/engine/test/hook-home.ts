import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  type DirectoryHome,
  type DirectoryOptions,
  type HookStatus,
  passOnce,
  statusOf,
} from '../src/index.ts';
import { Directories, loaded } from './directories.ts';

const API = 'apiVersion: handover.dev/v1alpha1';
export const MESH = 'default/mesh';

export interface Reloads {
  readonly leaf?: string;
  readonly own?: string;
  readonly bundle?: string;
  readonly static?: string;
  readonly consumers?: string;
  readonly leafLifetime?: string;
}

const part = (reload: string | undefined): string => (reload === undefined ? '' : `, reload: ${reload}`);

export const yamlOf = ({
  leaf,
  own,
  bundle,
  static: company,
  consumers = '',
  leafLifetime = '90d',
}: Reloads): string =>
  [
    `${API}\nkind: Authority\nmetadata: {name: mesh}\nspec: {lifetime: 1y, rotation: {reloadWithin: 20s}, consumers: [${consumers}], bundle: {configMapName: mesh-trust${part(own)}}}`,
    `${API}\nkind: Leaf\nmetadata: {name: web}\nspec: {authority: mesh, dnsNames: [web], lifetime: ${leafLifetime}${part(leaf)}}`,
    `${API}\nkind: TrustBundle\nmetadata: {name: shared}\nspec: {sources: [{authority: default/mesh}], targets: [{configMap: {name: shared}}]${part(bundle)}}`,
    ...(company === undefined
      ? []
      : [
          `${API}\nkind: TrustBundle\nmetadata: {name: again}\nspec: {sources: [{configMap: {name: shared}}], targets: [{configMap: {name: again}}]${part(company)}}`,
        ]),
  ].join('\n---\n');

export const sh = (script: string): string => `{command: ${JSON.stringify(['sh', '-c', script])}}`;
/** Appends one line to a file of the home. */
export const says = (line: string): string => sh(`echo "${line}" >> said`);
export const restart = (script: string): string =>
  `{restart: {command: ${JSON.stringify(['sh', '-c', script])}}}`;
export const RESTARTS = restart(
  'echo "restart for $HANDOVER_REASON of generation $HANDOVER_GENERATION" >> said',
);

/** Homes of one test file whose resources declare hooks. */
export class HookHomes extends Directories {
  with(reloads: Reloads, options: Partial<DirectoryOptions> = {}): DirectoryHome {
    return this.home(this.make(yamlOf(reloads)), undefined, options);
  }

  /** A whole rotation of consumers that rest on reloadWithin. */
  async rotate(home: DirectoryHome, id: string): Promise<void> {
    await home.requests.ask({ authority: MESH, rotate: id });
    for (let passes = 0; passes < 4; passes++) {
      await pass(home);
      this.later(30_000);
    }
    expect(await phaseOf(home)).toBe('Stable');
  }
}

export const pass = async (home: DirectoryHome): Promise<void> =>
  passOnce(loaded(home), home.load(), () => {});

export const said = ({ path }: DirectoryHome): readonly string[] =>
  existsSync(join(path, 'said')) ? readFileSync(join(path, 'said'), 'utf8').trim().split('\n') : [];

export const phaseOf = async (home: DirectoryHome): Promise<string | undefined> =>
  (await statusOf(loaded(home).fresh)).authorities[0]?.phase;

export const hookOf = async (home: DirectoryHome): Promise<HookStatus | undefined> =>
  (await statusOf(loaded(home).fresh)).authorities[0]?.hooks[0];
