import { converge, type Home, type Requests, verifyAuthority } from '../src/index.ts';
import { catalogue, on, World } from './world.ts';

const ID = 'default/mesh';
const resources = (leaves: number) =>
  catalogue(
    [
      'apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: mesh}\nspec: {rotation: {reloadWithin: 20s}}\n',
      ...Array.from(
        { length: leaves },
        (_, n) =>
          `apiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: l${n}}\nspec: {authority: mesh, dnsNames: [l${n}]}\n`,
      ),
    ].join('---\n'),
  );

/** A home with Authority mesh and this many Leaves. */
export const fleet = async (leaves: number): Promise<Home> => {
  const world = new World();
  const declared = resources(leaves);
  await converge(on(world.home, declared), ID);
  return on(world.home, declared);
};

export const verify = async (home: Home, asked?: Partial<Requests>) =>
  verifyAuthority(home, await home.fresh(), ID, asked);
