import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DirectoryHome } from '@handover/engine';
import type { Clock } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';

const API = 'apiVersion: handover.dev/v1alpha1';

/** Fields of a spec, as YAML in one line each. */
type Spec = Readonly<Record<string, string>>;

const resource = (kind: string, name: string, spec: Spec): string => {
  const fields = Object.entries(spec).map(([field, value]) => `${field}: ${value}`);
  return `${API}\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: {${fields.join(', ')}}\n`;
};

/** An Authority whose rotations wait for nothing but its consumers. */
export const authority = (name: string, spec: Spec = {}): string =>
  resource('Authority', name, { rotation: '{reloadWithin: 0s}', ...spec });

/** A Leaf of the Authority of the same name. */
export const leaf = (name: string, spec: Spec = {}): string =>
  resource('Leaf', name, { authority: name, dnsNames: '[localhost]', ...spec });

/** A hook that runs a script. */
export const shell = (script: string): string => `{command: ${JSON.stringify(['sh', '-c', script])}}`;

/** A directory that is not there yet, in a folder that is the test's own. */
export const newHome = (): string => join(temporaryFolder({ inMemory: true }), 'home');

/** Such a directory with these resources. */
export const homeWith = (...resources: readonly string[]): string => {
  const home = newHome();
  mkdirSync(home, { mode: 0o755 });
  writeFileSync(join(home, 'a.yaml'), resources.join('---\n'), { mode: 0o644 });
  return home;
};

/** Another process on a directory, by a clock that was never set. */
export const homeOn = (path: string, clock: Clock): DirectoryHome =>
  new DirectoryHome(path, {
    timers: clock,
    clock: { now: () => clock.now(), steadySince: () => undefined },
  });
