import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { localTlsSupport } from '@handover/engine';
import { HandoverError, nodeTlsOptions, resolveTlsProfile, type TlsProfile } from '@handover/material';
import { firstEvent } from './first-event.ts';
import { CLOSED, type OfferOptions, reach, type TlsTarget } from './offer.ts';

/** What a client with the profile negotiates. */
export type Negotiated =
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
export async function handshakeWith(
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
