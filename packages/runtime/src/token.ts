import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { mustBePath } from './arguments.ts';
import { RuntimeError } from './error.ts';
import { Followed } from './files/followed.ts';
import { follow } from './files/follower.ts';
import type { FollowerEvents, Material } from './files/follower-spec.ts';
import { mustNotBeBlank } from './files/in-file.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';
import type { TokenReloadedEvent } from './outcome.ts';
import type { SourceStatus } from './status/status.ts';

const MAX_TOKEN_BYTES = 64 * 1024;

/**
 * Events of a {@link Token}.
 *
 * @example
 * ```ts
 * import type { TokenEvents } from '@handover/runtime';
 *
 * const report = ({ path, error }: TokenEvents['kept']) => console.error(`${path}: ${error.message}`);
 * token.on('kept', report);
 * ```
 */
export interface TokenEvents extends Omit<FollowerEvents, 'reloaded'> {
  /** The token was replaced. */
  readonly reloaded: TokenReloadedEvent;
}

interface TokenMaterial extends Material {
  readonly value: string;
}

function readToken(bytes: Buffer, path: string): TokenMaterial {
  mustNotBeBlank(bytes, path, 'a token');
  const value = bytes.toString('utf8').trim();
  // Visible ASCII only: other characters break an Authorization header (RFC 9110 §5.5).
  if (!/^[\x21-\x7e]+$/.test(value)) {
    throw new RuntimeError(
      'TOKEN_MALFORMED',
      `${path} holds characters that no token has; is it the right file?`,
      {
        path,
      },
    );
  }
  return { value, hash: hash('sha256', value, 'hex') };
}

/**
 * A bearer token that follows its file. It never prints.
 *
 * @example
 * ```ts
 * import type { Token } from '@handover/runtime';
 *
 * const headersWith = (bearer: Token) => ({ authorization: `Bearer ${bearer.value()}` });
 * console.log(headersWith(token).authorization); // Bearer a-token
 * ```
 */
export class Token extends Followed<'token', TokenMaterial, TokenEvents> {
  /**
   * The newest token. Ask for it at each request.
   *
   * @example
   * ```ts
   * const headers = { authorization: `Bearer ${token.value()}` };
   * ```
   */
  value(): string {
    return this.follower.loaded.value.value;
  }

  override status(): SourceStatus {
    return { kind: 'token', ...this.commonStatus() };
  }

  /**
   * Keeps the token out of logs.
   *
   * @example
   * ```ts
   * console.log(JSON.stringify({ token })); // {"token":"[token]"}
   * ```
   */
  toJSON(): string {
    return '[token]';
  }
}

/**
 * Reads a bearer token and follows its file. Throws `HandoverError` with the path when the first load fails.
 *
 * @example
 * ```ts
 * import { openToken } from '@handover/runtime';
 *
 * const token = await openToken('/etc/mesh/token');
 * const headers = { authorization: `Bearer ${token.value()}` };
 * ```
 */
export async function openToken(path: string, options: FollowOptions = {}): Promise<Token> {
  mustBePath(path, 'openToken');
  const file = resolve(path);
  const follower = await follow<'token', TokenMaterial>({
    files: { token: file },
    maxBytes: MAX_TOKEN_BYTES,
    load: ({ token }) => readToken(token, file),
    isSecret: true,
    options: resolveFollowOptions(options, 'openToken'),
  });
  return new Token(follower);
}
