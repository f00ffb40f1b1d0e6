import { EngineError } from '../error.ts';
import { hookLine, hookStanding } from '../snapshot/hook-status.ts';
import type { DirectoryHome } from './home.ts';

/** Fails if the last run of a hook failed: a script must not take its run for complete. */
export async function refuseFailedHooks(home: DirectoryHome): Promise<void> {
  const snapshot = await home.fresh();
  const failed: string[] = [];
  for (const hook of home.declaredHooks()) {
    const status = await hookStanding(snapshot, hook);
    if (status.state === 'failed') failed.push(hookLine(status));
  }
  const [first, ...others] = failed;
  if (first === undefined) return;
  const rest = others.length === 0 ? '' : ` (${others.length} more failed)`;
  throw new EngineError('RELOAD_FAILED', `${first}${rest}`, { retry: 'later' });
}
