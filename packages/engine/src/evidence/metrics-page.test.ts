import fc from 'fast-check';
import { expect, test } from 'vitest';
import { METRICS_BOUNDS, MetricsPage } from './metrics-page.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const C = 'c'.repeat(64);

const read = (text: string | Buffer, size = Number.POSITIVE_INFINITY) => {
  const page = new MetricsPage();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) page.push(bytes.subarray(at, at + size));
  return page.end();
};
const anchor = (sha256: string, more = '', value = '1') =>
  `tls_trust_anchor_info{sha256="${sha256}"${more}} ${value}\n`;
const leaf = (sha256: string, more = '', value = '1') =>
  `tls_leaf_info{sha256="${sha256}"${more}} ${value}\n`;
const ca = (...anchors: readonly string[]) => ({ anchors, leaf: undefined });
const shown = (fingerprint: string, more = {}) => ({ anchors: undefined, leaf: { fingerprint, ...more } });

const PAGE = `# HELP tls_trust_anchor_info CA certificates in use.
# TYPE tls_trust_anchor_info gauge
${anchor(A)}${anchor(B)}${anchor(C, '', '0')}# TYPE tls_leaf_info gauge
${leaf(C)}
# TYPE tls_leaf_info_age histogram
tls_leaf_info_age_bucket{le="1",sha256="no"} 7
tls_trust_anchor_info_total{sha256="no"} 7
http_requests_total{path="tls_leaf_info{sha256=1} 5"} 1027 1395066363000
# EOF
`;

test('a metrics page shows the CAs and the leaf that have the value 1, and its other families do not matter', () => {
  expect(read(PAGE)).toEqual([ca(A, B), shown(C)]);
});

test('a metrics page reads the same in whatever pieces it arrives', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), (size) => {
      expect(read(PAGE, size)).toEqual(read(PAGE));
    }),
    { numRuns: 50, seed: 1 },
  );
});

test('labels that do not describe a certificate make sources of a metrics page, so that no process hides behind another', () => {
  expect(read(anchor(A, ',source="in"') + anchor(B, ',source="in"') + anchor(A, ',source="out"'))).toEqual([
    ca(A, B),
    ca(A),
  ]);
  expect(
    read(anchor(A, ',pid="1",host="x"') + anchor(B, ',host="x",pid="1"') + anchor(A, ',pid="2"')),
  ).toEqual([ca(A, B), ca(A)]);
  expect(read(anchor(A, ',subject="CN=1"') + anchor(B, ',subject="CN=2",not_after="2030"'))).toEqual([
    ca(A, B),
  ]);
  expect(read(leaf(A) + leaf(B, ',issuer_key_id="AB:CD"'))).toEqual([
    shown(A),
    shown(B, { issuerKeyId: 'abcd' }),
  ]);
});

test.each([
  ['blanks', `  tls_leaf_info\t{ sha256 = "${A}" , }   1.0`],
  ['colons and capitals', leaf(A.toUpperCase().replaceAll(/..(?!$)/g, '$&:'))],
  ['escapes in other labels', leaf(A, ',subject="O=\\"x\\\\\\n} 0"')],
  ['no line end', leaf(A).trim()],
  [
    'other text with bytes that are no UTF-8',
    Buffer.concat([Buffer.from([0xff, 0x00, 0x0a]), Buffer.from(leaf(A))]),
  ],
  [
    'a line of another family that is as long as the page may be',
    `x{a="${'y'.repeat(100_000)}"} 1\n${leaf(A)}`,
  ],
])('a metrics page with %s is read', (_, text) => {
  expect(read(text)).toEqual([shown(A)]);
});

test.each([
  ['without the two families', 'up 1\n', /^the page has neither tls_trust_anchor_info nor tls_leaf_info$/],
  ['that is empty', '', /^the page has neither/],
  ['of HTML', '<html>tls_leaf_info</html>', /^the page has neither/],
  ['without a fingerprint', 'tls_leaf_info 1\n', /^tls_leaf_info has no label sha256/],
  ['with half a fingerprint', leaf('ab'), /^tls_leaf_info has no label sha256/],
  [
    'with two values added up',
    anchor(A, '', '2'),
    /other than 0 and 1; where several processes are added up/,
  ],
  ['with a value that is no number', anchor(A, '', 'NaN'), /other than 0 and 1/],
  ['with a value that only JavaScript reads', anchor(A, '', '0x1'), /other than 0 and 1/],
  ['without a value', `tls_leaf_info{sha256="${A}"}`, /not in the text format/],
  ['with a time of its own', anchor(A, '', '1 1395066363000'), /has a time or more behind its value/],
  ['that contradicts itself', leaf(A) + leaf(A, '', '0'), /held and that it is not/],
  ['with a label twice', leaf(A, `,sha256="${B}"`), /not in the text format/],
  ['with an escape that there is not', leaf(A, ',x="\\t"'), /not in the text format/],
  ['with an open label', `tls_leaf_info{sha256="${A}`, /not in the text format/],
  ['with no comma', `tls_leaf_info{sha256="${A}" x="y"} 1`, /not in the text format/],
  [
    'with a line of ours without end',
    leaf(A, `,x="${'y'.repeat(METRICS_BOUNDS.line)}"`),
    /a line of tls_leaf_info is over 4 KiB/,
  ],
])('a metrics page %s is no evidence, and the reason is one clause', (_, text, why) => {
  for (const size of [1, 7, text.length + 1]) expect(() => read(text, size)).toThrow(why);
});

test('the end of a long line of others is no line of ours, wherever the page was cut in pieces', () => {
  const before = 'x{a="'.padEnd(8_192, 'y');
  expect(read(`${before}${leaf(B)}${leaf(A)}`, 8_192)).toEqual([shown(A)]);
});

test('a metrics page with more series of ours than a process can need is no evidence', () => {
  const many = Array.from({ length: METRICS_BOUNDS.series + 1 }, (_, index) =>
    anchor(index.toString(16).padStart(64, '0')),
  );
  expect(() => read(many.join(''))).toThrow('the page has over 4096 series');
  expect(read(many.slice(1).join(''))[0]?.anchors).toHaveLength(METRICS_BOUNDS.series);
});

test('a metrics page of others’ series is read up to 4 MiB', () => {
  const series = 'x{a="b"} 1\n'.repeat(METRICS_BOUNDS.bytes / 11);
  const fits = leaf(A) + series.slice(0, METRICS_BOUNDS.bytes - leaf(A).length);
  expect(read(fits, 65_536)).toEqual([shown(A)]);
  expect(() => read(`${fits}\n`, 65_536)).toThrow('the page is over 4 MiB');
});
