import { HandoverError } from '@handover/material';
import type { ProbeCommand } from '../../evidence/probe-command.ts';
import { hookProgram } from './hook-program.ts';
import { type HookTools, hookEnvironment, said } from './hook-ways.ts';

const TIMEOUT_MS = 10_000;
/** Certificates with their chain are a few KiB. */
const MOST_OUTPUT = 64 * 1024;

/** The probe command of a consumer: run as hooks are, with the same environment and under the same rules. */
export const probeCommand = (
  { files, cwd, uid, groups }: Pick<HookTools, 'files' | 'cwd' | 'uid' | 'groups'>,
  consumer: string,
  [program = '', ...args]: readonly string[],
): ProbeCommand => ({
  name: said(program),
  run: async () => {
    try {
      const file = hookProgram(files, program, cwd, uid);
      if (file === undefined) return { why: 'is not found, or not executable' };
      const { how, code, cause, printed, ...ended } = await groups.run({
        file,
        program,
        args,
        cwd,
        env: hookEnvironment({ HANDOVER_CONSUMER: consumer }),
        timeoutMs: TIMEOUT_MS,
        output: MOST_OUTPUT,
        signal: new AbortController().signal,
      });
      const words = ended.said === '' ? '' : `, stderr: "${said(ended.said)}"`;
      if (how === 'timed-out') return { why: `did not end within ${TIMEOUT_MS / 1_000} s${words}` };
      if (how !== 'exited') return { why: `cannot be started: ${cause}` };
      if (printed.length > MOST_OUTPUT) return { why: `prints more than ${MOST_OUTPUT / 1024} KiB` };
      if (code !== 0) return { why: `ended with ${code ?? cause}${words}` };
      return { text: printed.toString('utf8') };
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      return { why: `is not run: ${error.message}` };
    }
  },
});
