import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Clock, MAX_STATUS_BYTES, STATUS_PATH } from '@handover/material';

const MAX_HEADER_BYTES = 8 * 1024;
export const TIMEOUT_MS = 2_000;

/** Takes an answer as it comes; throws at what it does not take. */
export interface AnswerReader<Result> {
  push(chunk: Buffer): void;
  end(): Result;
}

/** An answer to GET, within two seconds. */
export const fetchAnswer = <Result>(
  options: RequestOptions,
  secure: boolean,
  clock: Clock,
  reader: AnswerReader<Result>,
): Promise<Result> =>
  new Promise((resolve, reject) => {
    const ask = (secure ? httpsRequest : httpRequest)(
      // The signal also ends an answer that comes byte by byte, or never.
      {
        ...options,
        agent: false,
        maxHeaderSize: MAX_HEADER_BYTES,
        signal: clock.timeout(TIMEOUT_MS),
      },
      (response) => {
        // A redirect is not followed: another server would answer.
        if (response.statusCode !== 200) {
          ask.destroy(new Error(`the answer is HTTP ${response.statusCode}`));
          return;
        }
        const taken = (take: () => void): void => {
          try {
            take();
          } catch (error) {
            reject(error);
            ask.destroy();
          }
        };
        response.on('data', (chunk: Buffer) => taken(() => reader.push(chunk)));
        response.on('end', () => taken(() => resolve(reader.end())));
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('the answer broke off')));
      },
    );
    ask.on('error', reject);
    ask.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('the answer is HTTP 101'));
    });
    // Without an answer, an error or an end Node would leave the question open for good.
    ask.on('close', () => reject(new Error('the connection ended without an answer'))).end();
  });

/** A status document as text, of 64 KiB at most. */
export const documentReader = (): AnswerReader<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    push: (chunk) => {
      size += chunk.length;
      if (size > MAX_STATUS_BYTES) throw new Error('the document is over 64 KiB');
      chunks.push(chunk);
    },
    end: () => Buffer.concat(chunks).toString('utf8'),
  };
};

/** Whether an error of `fetchAnswer` says that no answer came in time. */
export const isTimeout = ({
  name,
  code,
}: {
  readonly name: string;
  readonly code?: string | undefined;
}): boolean => name === 'TimeoutError' || code === 'ABORT_ERR';

/** The status document behind a socket. Its path is looked up by this process. */
export const askSocket = (socketPath: string, clock: Clock): Promise<string> =>
  fetchAnswer({ socketPath, path: STATUS_PATH }, false, clock, documentReader());
