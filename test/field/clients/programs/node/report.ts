import { readFileSync } from 'node:fs';

export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const CA = `${SERVICE_ACCOUNT}/ca.crt`;

/** Asks again and again. Prints one line whenever the outcome changes, and when the CA file does. */
export const report = async (ask: (signal: AbortSignal) => Promise<unknown>): Promise<never> => {
  let file = readFileSync(CA, 'utf8');
  let last = '';
  for (let count = 1; ; count++) {
    const say = (what: string, why = ''): void =>
      void process.stdout.write(`${JSON.stringify({ at: Date.now(), what, count, why })}\n`);
    const [what, why] = await ask(AbortSignal.timeout(5_000)).then(
      () => ['ok', ''] as const,
      (error: Error) => ['failed', `${error.message}: ${String(error.cause ?? '')}`] as const,
    );
    if (what !== last) say(what, why);
    last = what;
    const now = readFileSync(CA, 'utf8');
    if (now !== file) say('file');
    file = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
