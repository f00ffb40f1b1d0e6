import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodePem, HandoverError, MAX_PEM_BYTES, parsePem } from './index.ts';

const der = Buffer.from('30030201ff'.repeat(20), 'hex');
const block = encodePem('CERTIFICATE', der);

const codeOf = (action: () => unknown): string => {
  try {
    action();
    return 'no error';
  } catch (error) {
    if (error instanceof HandoverError) return error.code;
    throw error;
  }
};

it('PEM comes back as it was written', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 5 }), (ders) => {
      const text = ders.map((bytes) => encodePem('CERTIFICATE', bytes)).join('');
      const { blocks, junk } = parsePem(text);
      expect(blocks.map((each) => [...each.der])).toEqual(ders.map((bytes) => [...bytes]));
      expect(junk).toEqual([]);
      expect(blocks.map((each) => encodePem(each.label, each.der)).join('')).toBe(text);
    }),
  );
});

it('PEM is read with a byte order mark, CRLF, trailing blanks and without a last newline', () => {
  for (const text of [
    `\uFEFF${block}`,
    block.replaceAll('\n', '\r\n'),
    block.replaceAll('\n', ' \t\n'),
    block.trimEnd(),
    Buffer.from(`\uFEFF${block}`),
  ]) {
    expect(Buffer.from(parsePem(text).blocks[0]?.der ?? []).equals(der)).toBe(true);
  }
});

it('PEM reports what stands between the blocks, once for each run of lines', () => {
  const { blocks, junk } = parsePem(`# roots\n# of ours\n\n${block}subject=/CN=x\n${block}`);
  expect(blocks.map(({ line }) => line)).toEqual([4, 10]);
  expect(junk).toEqual([
    { line: 1, text: '# roots' },
    { line: 9, text: 'subject=/CN=x' },
  ]);
});

it('PEM never repeats what may be key bytes, nor control characters', () => {
  const { junk } = parsePem(`${der.toString('base64')}\n\n\u001b[31mred\n\n${'long '.repeat(50)}`);
  expect(junk.map(({ text }) => text)).toEqual(['[base64 text]', '?[31mred', `${'long '.repeat(12)}…`]);
});

it('PEM refuses everything that is not exactly a pair of boundaries around base64', () => {
  const body = block.split('\n').slice(1, -2).join('\n');
  const cases: readonly (readonly [string, string])[] = [
    [`-----BEGIN CERTIFICATE-----\n${body}\n`, 'PEM_TRUNCATED'],
    [block.slice(0, 60), 'PEM_TRUNCATED'],
    [`-----BEGIN CERTIFICATE-----\n${body}\n-----END X509 CRL-----\n`, 'PEM_BAD_BOUNDARY'],
    [`-----BEGIN CERTIFICATE-----\n${block}`, 'PEM_BAD_BOUNDARY'],
    ['-----END CERTIFICATE-----\n', 'PEM_BAD_BOUNDARY'],
    [`  ${block}`, 'PEM_BAD_BOUNDARY'],
    [block.trimEnd() + block, 'PEM_BAD_BOUNDARY'],
    [`x ${block}`, 'PEM_BAD_BOUNDARY'],
    [block.replaceAll('\n', ''), 'PEM_BAD_BOUNDARY'],
    [`-----BEGIN certificate-----\n${body}\n-----END certificate-----\n`, 'PEM_BAD_BOUNDARY'],
    ['-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', 'PEM_BAD_BASE64'],
    [block.replace(/.{4}\n-----END/, '****\n-----END'), 'PEM_BAD_BASE64'],
    [block.replace('MAM', 'MA M'), 'PEM_BAD_BASE64'],
    ['-----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----\n', 'PEM_BAD_BASE64'],
    ['-----BEGIN CERTIFICATE-----\nAAB=\n-----END CERTIFICATE-----\n', 'PEM_BAD_BASE64'],
    ['-----BEGIN CERTIFICATE-----\nAA==\nAA==\n-----END CERTIFICATE-----\n', 'PEM_BAD_BASE64'],
    ['-----BEGIN CERTIFICATE-----\nAA-_\n-----END CERTIFICATE-----\n', 'PEM_BAD_BASE64'],
  ];
  for (const [text, code] of cases) expect([text, codeOf(() => parsePem(text))]).toEqual([text, code]);
});

it('PEM calls binary data by its name', () => {
  expect(codeOf(() => parsePem(Buffer.from([0x30, 0x82, 0x00, 0x01])))).toBe('PEM_BINARY');
  expect(codeOf(() => parsePem(Buffer.from(`\uFEFF${block}`, 'utf16le')))).toBe('PEM_BINARY');
  expect(codeOf(() => parsePem(`\0${block}`))).toBe('PEM_BINARY');
  expect(codeOf(() => parsePem(Buffer.from([0xfe, 0xed, 0xfe, 0xed])))).toBe('PEM_BINARY');
});

it('PEM reads blocks beside a comment that is not UTF-8', () => {
  expect(parsePem(Buffer.from(`# Autorité\n${block}`, 'latin1')).blocks).toHaveLength(1);
});

it('PEM bounds its input, and reads megabytes of anything below the bound in linear time', () => {
  expect(codeOf(() => parsePem('x'.repeat(MAX_PEM_BYTES + 1)))).toBe('PEM_TOO_LARGE');
  expect(parsePem('x'.repeat(2_000_000)).junk).toHaveLength(1);
  expect(parsePem('x\n'.repeat(1_000_000)).junk).toHaveLength(1);
  expect(parsePem('x\n\n'.repeat(600_000)).junk).toHaveLength(1_000);
  expect(parsePem(`${'A'.repeat(2_000_000)}\n${block}`).blocks).toHaveLength(1);
  expect(codeOf(() => parsePem(`-----BEGIN CERTIFICATE-----\n${'A\n'.repeat(1_000_000)}`))).toBe(
    'PEM_TRUNCATED',
  );
  expect(codeOf(() => parsePem('-----BEGIN CERTIFICATE-----\n'.repeat(100_000)))).toBe('PEM_BAD_BOUNDARY');
});

it('PEM gives a coded error or an answer to whatever it is fed', () => {
  const pieces = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      block,
      '-----BEGIN CERTIFICATE-----\n',
      '-----END CERTIFICATE-----\n',
      '\r',
      '\n',
      '-----',
      '\uFEFF',
    ),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      expect(codeOf(() => parsePem(parts.join('')))).toMatch(/^(no error|PEM_[A-Z_0-9]+)$/);
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      expect(codeOf(() => parsePem(bytes))).toMatch(/^(no error|PEM_[A-Z_0-9]+)$/);
    }),
  );
});
