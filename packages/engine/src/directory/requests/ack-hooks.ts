import { EngineError } from '../../error.ts';
import {
  authorityRef,
  type Catalogue,
  idOf,
  ownBundleOf,
  secretOf,
  targetsOf,
} from '../../snapshot/catalogue.ts';
import type { AuthorityId, ObjectId } from '../../snapshot/home.ts';
import { argumentOf, hookStanding } from '../../snapshot/hook-status.ts';
import { hooksOf, restarts } from '../../snapshot/hooks.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';

/** The objects whose files a declared consumer reads. */
const readBy = (catalogue: Catalogue, authority: AuthorityId, name: string): readonly ObjectId[] => {
  const declared = catalogue.authorities.get(authority);
  const consumer = declared?.spec.consumers.find((one) => one.name === name);
  if (declared === undefined || consumer === undefined) return [];
  const { namespace } = declared.metadata;
  const { leaf: named, bundle } = consumer;
  const leaves = catalogue.leaves.filter(
    (leaf) =>
      consumer.presents &&
      authorityRef(leaf.spec.authority, leaf.metadata.namespace) === authority &&
      (named === undefined || idOf(leaf) === authorityRef(named, namespace)),
  );
  const targets = catalogue.trustBundles
    .filter(({ metadata }) => metadata.name === bundle)
    .flatMap((one) => targetsOf(one, catalogue));
  const bundles = targets.length === 0 ? [ownBundleOf(declared)] : targets;
  return [...leaves.map(secretOf), ...(consumer.verifies ? bundles : [])];
};

/**
 * Refuses a person's word for a program whose hook says otherwise: while a hook fails its program counts as not told, and where a hook
 * restarts the program only that restart counts.
 */
export async function refuseUnderHook(
  snapshot: Snapshot,
  authority: AuthorityId,
  consumer: string,
): Promise<void> {
  const files = readBy(snapshot.catalogue, authority, consumer);
  const refuse = (why: string): never => {
    throw new EngineError('ACK_HOOK', why, { path: consumer });
  };
  for (const hook of hooksOf(snapshot.catalogue, authority)) {
    if (!hook.objects.some((object) => files.includes(object))) continue;
    const status = await hookStanding(snapshot, hook);
    const again = `handover reload ${argumentOf(status)}`;
    if (restarts(hook))
      refuse(`the hook of ${hook.name} restarts ${consumer}, and that restart counts; run it with ${again}`);
    if (status.state === 'failed')
      refuse(
        `the hook of ${hook.name} failed at ${status.at}: ${status.message}, and as long as it fails the files of ${consumer} count as not loaded; mend the hook, run ${again}, then restart the program and repeat this command`,
      );
  }
}
