import { register } from 'node:module';

type ClientNode = typeof import('client-node-1');

export const loadClientNode1 = (): Promise<ClientNode> => import('client-node-1');

/** Its types ask for a newer Node's; what is used here is the same in both lines. */
export async function loadClientNode2(): Promise<ClientNode> {
  if (Number.parseInt(process.versions.node, 10) < 22) {
    register(new URL('./undici-7-hook.mjs', import.meta.url));
  }
  return (await import('client-node-2')) as unknown as ClientNode;
}
