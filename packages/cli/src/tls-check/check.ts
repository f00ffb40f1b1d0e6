import { handshakeWith, type Negotiated } from './handshake.ts';
import {
  type ItemStanding,
  itemStandingOf,
  type JudgedItem,
  type Judgement,
  judgeTls,
  type TlsYardstick,
} from './judge.ts';
import { suiteName, tlsGroupName, type Version } from './names.ts';
import type { OfferOptions, TlsTarget } from './offer.ts';
import { surveyTls, type VersionSeen } from './survey.ts';

/** A name that the server uses, and whether the profile lists it. */
export interface Listed {
  readonly name: string;
  readonly listed: boolean;
}

export interface VersionChecked {
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
