import { execFile, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { KeyPair } from '@handover/core';
import { type Certificate, instant, verifyChain } from '@handover/material';
import { envoyHandshakes } from './envoy-handshake.ts';
import { nodeHandshake } from './node-handshake.ts';

/** 'ok', or the judge's own reason. */
export interface Opinion {
  readonly server: string;
  readonly client: string;
}

/** One chain and one bundle. `folder`, below the root, holds chain.pem and bundle.pem. */
export interface Exhibit {
  readonly folder: string;
  readonly chain: readonly Certificate[];
  readonly bundle: readonly Certificate[];
  readonly leafKey: KeyPair;
}

export const JUDGES = {
  handover: 'Handover',
  node: 'Node',
  openssl: 'OpenSSL',
  boringssl: 'BoringSSL',
  go: 'Go',
  java: 'Java',
  gnutls: 'GnuTLS',
  webpki: 'rustls-webpki',
} as const;
export type JudgeName = keyof typeof JUDGES;

export type Judge = (root: string, exhibits: readonly Exhibit[]) => Promise<readonly Opinion[]>;

/** A few at a time, answers in order. */
const each =
  (judge: (root: string, exhibit: Exhibit) => Opinion | Promise<Opinion>): Judge =>
  async (root, exhibits) => {
    const opinions: Opinion[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let index = next++; index < exhibits.length; index = next++) {
        const exhibit = exhibits[index];
        if (exhibit !== undefined) opinions[index] = await judge(root, exhibit);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
    return opinions;
  };

/** Exit code 0 is 'ok'; else the first match of `reason` in the output. */
const asked = (command: string, args: readonly string[], cwd: string, reason: RegExp): Promise<string> =>
  new Promise((done) => {
    execFile(command, args, { cwd }, (error, stdout, stderr) => {
      if (error === null) return done('ok');
      done(reason.exec(`${stdout}\n${stderr}`)?.[1]?.trim() ?? `${stdout} ${stderr}`.trim());
    });
  });

/** TLS uses level 1 by default. */
const openssl = each(async (root, { folder }) => {
  const ask = (purpose: string): Promise<string> => {
    const files = ['-CAfile', 'bundle.pem', '-untrusted', 'chain.pem', 'chain.pem'];
    const args = ['verify', '-no-CApath', '-no-CAstore', '-auth_level', '1', '-purpose', purpose, ...files];
    return asked('openssl', args, join(root, folder), /error \d+ at \d+ depth lookup: (.*)/);
  };
  return { server: await ask('sslserver'), client: await ask('sslclient') };
});

const gnutls = each(async (root, { folder }) => {
  const ask = (purpose: string): Promise<string> => {
    const files = ['--load-ca-certificate', 'bundle.pem', '--infile', 'chain.pem'];
    const args = ['--verify', '--verify-purpose', purpose, ...files];
    return asked('certtool', args, join(root, folder), /Chain verification output: (.*)/);
  };
  return { server: await ask('1.3.6.1.5.5.7.3.1'), client: await ask('1.3.6.1.5.5.7.3.2') };
});

const handover = each((_root, { chain, bundle }) => {
  const ask = (purpose: 'server' | 'client'): string => {
    const verdict = verifyChain({ chain, anchors: bundle, at: instant(Date.now()), purpose });
    return verdict.ok ? 'ok' : verdict.code;
  };
  return { server: ask('server'), client: ask('client') };
});

const isOpinion = (value: unknown): value is Opinion & { readonly case: string } =>
  typeof value === 'object' &&
  value !== null &&
  ['case', 'server', 'client'].every((key) => typeof Reflect.get(value, key) === 'string');

/**
 * A program of judges/: gets one folder per line on stdin, answers each with one line
 * `{"case": folder, "server": "ok" or why not, "client": …}`, in order.
 */
const program =
  (command: readonly string[]): Judge =>
  (root, exhibits) =>
    new Promise((done, fail) => {
      const [file = '', ...args] = command;
      const child = spawn(file, args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      child.on('error', fail);
      child.on('close', (code) => {
        try {
          const answers = text
            .trim()
            .split('\n')
            .map((line): unknown => JSON.parse(line))
            .filter(isOpinion);
          const inOrder = exhibits.every(({ folder }, index) => answers[index]?.case === folder);
          if (code !== 0 || answers.length !== exhibits.length || !inOrder)
            throw new Error(
              `${file} ended with ${code} after ${answers.length} of ${exhibits.length} answers`,
            );
          done(answers);
        } catch (error) {
          fail(error);
        }
      });
      child.stdin.end(exhibits.map(({ folder }) => `${folder}\n`).join(''));
    });

export const judgesOf = (
  programs: Readonly<Record<'go' | 'java' | 'rust', readonly string[]>>,
): Readonly<Record<JudgeName, Judge>> => ({
  handover,
  node: each((_root, exhibit) => nodeHandshake(exhibit)),
  openssl,
  boringssl: envoyHandshakes,
  go: program(programs.go),
  java: program(programs.java),
  gnutls,
  webpki: program(programs.rust),
});
