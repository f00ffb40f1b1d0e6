/** As undici words its errors: programs compare the code. */
export const undiciError = (name: string, code: string, message: string): Error =>
  Object.assign(new Error(message), { name, code });

const REFUSED = ['transfer-encoding', 'keep-alive', 'upgrade'];
const CONNECTION = ['close', 'keep-alive'];

const invalid = (header: string): Error =>
  undiciError('InvalidArgumentError', 'UND_ERR_INVALID_ARG', `invalid ${header} header`);

const mismatch = (): Error =>
  undiciError(
    'RequestContentLengthMismatchError',
    'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
    'Request body length does not match content-length header',
  );

/** fetch adds the length of a text to the one that the caller set: `3, 3`. */
function lengthIn(value: string): number {
  const [first = '', ...others] = value.split(',').map((part) => part.trim());
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first)) throw invalid('content-length');
  return Number(first);
}

/** Yields no byte beyond the length: the server would read it as the next request on the connection. */
async function* counted(body: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > length) throw mismatch();
    yield chunk;
  }
  if (bytes < length) throw mismatch();
}

export interface Framed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Headers that frame a message or rule its connection are not the caller's: the same ones are refused as by undici. */
export function framed({ headers, body }: Framed): Framed {
  const kept: Record<string, string> = {};
  let length: number | undefined;
  for (const [name, value] of Object.entries(headers)) {
    const header = name.toLowerCase();
    if (REFUSED.includes(header)) throw invalid(header);
    if (header === 'connection' && !CONNECTION.includes(value.toLowerCase())) throw invalid(header);
    if (header === 'expect')
      throw undiciError('NotSupportedError', 'UND_ERR_NOT_SUPPORTED', 'expect header not supported');
    if (header !== 'content-length') kept[name] = value;
    else if (body !== null) length = lengthIn(value);
  }
  if (body === null) return { headers: kept, body };
  // Node frames the body of a DELETE or GET only when told how.
  return length === undefined
    ? { headers: { ...kept, 'transfer-encoding': 'chunked' }, body }
    : { headers: { ...kept, 'content-length': String(length) }, body: counted(body, length) };
}
