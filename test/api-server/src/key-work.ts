// Set-up of the unit tests: counts keys that are being made, so that a TestClock waits for them. Node tells of files and names under way
// (`process.getActiveResourcesInfo`), and not of work on keys.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
// Node 20's `X509Certificate.toLegacyObject` in a process without `node:tls` loads half of that module, and leaves `tls.createSecureContext` undefined
// for good. Tests share a process, so the module is here first.
import 'node:tls';

type Call = (...args: unknown[]) => unknown;
const shared = globalThis as { handoverKeyWork?: { underWay: number } };

/** How many keys are being made or derived now. */
export const keysUnderWay = (): number => shared.handoverKeyWork?.underWay ?? 0;

const counted = (call: Call, work: { underWay: number }): Call => {
  const counting: Call = (...args) => {
    const done = args.pop() as Call;
    work.underWay++;
    const counted: Call = (...answer) => {
      work.underWay--;
      return done(...answer);
    };
    try {
      return call(...args, counted);
    } catch (error) {
      work.underWay--;
      throw error;
    }
  };
  // What `promisify` needs to know.
  return Object.defineProperties(counting, Object.getOwnPropertyDescriptors(call)) as Call;
};

// Once in a process: a worker may run several files.
if (shared.handoverKeyWork === undefined) {
  const work = { underWay: 0 };
  shared.handoverKeyWork = work;
  for (const name of ['generateKeyPair', 'pbkdf2', 'scrypt'] as const)
    Object.assign(crypto, { [name]: counted(crypto[name] as unknown as Call, work) });
  syncBuiltinESMExports();
}
