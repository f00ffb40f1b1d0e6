import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { localTlsSupport } from '@handover/engine';
import { HandoverError, nodeTlsOptions, resolveTlsProfile, type TlsProfile } from '@handover/material';
import { firstEvent } from './first-event.ts';
import {
  type ItemStanding,
  itemStandingOf,
  type JudgedItem,
  type Judgement,
  judgeTls,
  type TlsYardstick,
} from './judge.ts';
import { suiteName, tlsGroupName, type Version } from './names.ts';
import { CLOSED, type OfferOptions, reach, type TlsTarget } from './offer.ts';
import { surveyTls, type VersionSeen } from './survey.ts';

/** What a client with the profile negotiates. */
type Negotiated =
  | {
      readonly kind: 'done';
      readonly version: string;
      readonly suite: string;
      readonly group: string | undefined;
    }
  | { readonly kind: 'failed'; readonly why: string }
  /** This process's OpenSSL cannot be such a client. */
  | { readonly kind: 'not-tried'; readonly why: string };

const GROUP_OF_OPENSSL: Readonly<Record<string, string>> = { prime256v1: 'secp256r1' };

const optionsFor = ({ ciphers, minTLSVersion, groups }: TlsProfile): ReturnType<typeof nodeTlsOptions> =>
  nodeTlsOptions(
    resolveTlsProfile({ type: 'Custom', custom: { ciphers, minTLSVersion, groups } }, localTlsSupport())
      .profile,
  );

/** One complete handshake as a client with the profile. The certificate is not judged. Never rejects. */
async function handshakeWith(
  target: TlsTarget,
  profile: TlsProfile,
  options: OfferOptions,
): Promise<Negotiated> {
  let asClient: ReturnType<typeof optionsFor>;
  try {
    asClient = optionsFor(profile);
  } catch (error) {
    if (error instanceof HandoverError) return { kind: 'not-tried', why: error.message };
    throw error;
  }
  const raw = await reach(target, options);
  if ('kind' in raw) return { kind: 'failed', why: raw.why };
  const servername = target.servername ?? target.host;
  const socket = connect({
    socket: raw,
    ...asClient,
    rejectUnauthorized: false,
    ...(isIP(servername) === 0 ? { servername } : {}),
  });
  const result = await firstEvent<Negotiated>(
    socket,
    options,
    () => ({ kind: 'failed', why: 'no answer in time' }),
    (on, end) => {
      on('error', (error: NodeJS.ErrnoException) =>
        end({ kind: 'failed', why: error.code ?? error.message }),
      );
      on('close', () => end({ kind: 'failed', why: CLOSED }));
      // On TLS 1.3 a server that requires a client certificate refuses only after this, when the negotiation is complete.
      on('secureConnect', () => {
        const { name } = socket.getEphemeralKeyInfo() as { name?: string };
        end({
          kind: 'done',
          version: (socket.getProtocol() ?? '').replace(/^TLSv1$/, 'TLSv1.0').replace('TLSv', 'TLS '),
          suite: socket.getCipher().name,
          group: name === undefined ? undefined : (GROUP_OF_OPENSSL[name] ?? name),
        });
      });
    },
  );
  socket.destroy();
  raw.destroy();
  return result;
}

/** A name that the server uses, and whether the profile lists it. */
interface Listed {
  readonly name: string;
  readonly listed: boolean;
}

interface VersionChecked {
  readonly version: Version;
  /** What the profile says about the version; undefined: it has no suite for it. */
  readonly profile?: ItemStanding;
  readonly outcome: VersionSeen['outcome'];
  readonly why?: string;
  readonly suites: readonly Listed[];
  readonly groups: readonly Listed[];
}

export interface TlsCheck extends Judgement {
  readonly address: string;
  readonly servername?: string;
  /** What a client with this profile negotiates. */
  readonly negotiated?: Negotiated;
  readonly versions: readonly VersionChecked[];
}

const addressOf = ({ host, port }: TlsTarget): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

const listedIn = (names: readonly string[], name: string): Listed => ({
  name,
  listed: names.some((listed) => listed.toLowerCase() === name.toLowerCase()),
});

/** Surveys one server and compares it with the profile. Never rejects. */
export async function checkTls(
  target: TlsTarget,
  yardstick: TlsYardstick,
  options: OfferOptions,
): Promise<TlsCheck> {
  const { profile } = yardstick;
  const seen = await surveyTls(target, options);
  const judgement = judgeTls(seen, yardstick);
  const negotiated =
    judgement.verdict === 'unchecked' ? undefined : await handshakeWith(target, profile, options);
  const isExpected = seen.some(
    ({ version, suites }) =>
      itemStandingOf(version, profile) === 'asked' &&
      suites.some((suite) => listedIn(profile.ciphers, suiteName(suite)).listed),
  );
  const failed: readonly JudgedItem[] =
    isExpected && negotiated?.kind === 'failed'
      ? [
          {
            code: 'HANDSHAKE_NOT_FINISHED',
            message: `a client with this profile did not complete the handshake (${negotiated.why})`,
          },
        ]
      : [];
  return {
    address: addressOf(target),
    ...(target.servername === undefined ? {} : { servername: target.servername }),
    ...judgement,
    remarks: [...judgement.remarks, ...failed],
    ...(negotiated === undefined ? {} : { negotiated }),
    versions: seen.map(({ version, outcome, why, suites, groups }) => {
      const standing = itemStandingOf(version, profile);
      return {
        version,
        ...(standing === undefined ? {} : { profile: standing }),
        outcome,
        ...(why === undefined ? {} : { why }),
        suites: suites.map((code) => listedIn(profile.ciphers, suiteName(code))),
        groups: groups.map((code) => listedIn(profile.groups, tlsGroupName(code))),
      };
    }),
  };
}
