import { LEAF_METRIC, TRUST_METRIC } from '@handover/material';
import { hex, type SourceDocument, type Wording } from './document-schema.ts';

/** Of the whole page; of one line of ours; of lines of ours. */
export const METRICS_BOUNDS = { bytes: 4 * 1024 * 1024, line: 4 * 1024, series: 4_096 } as const;

const DESCRIPTIONS = ['subject', 'issuer', 'serial', 'not_before', 'not_after'] as const;

/** Labels of the series that are read: docs/reference/status-document.md is made from this list. */
export const METRICS_LABELS: readonly {
  readonly label: string;
  readonly required: boolean;
  readonly meaning: string;
}[] = [
  {
    label: 'sha256',
    required: true,
    meaning: 'SHA-256 fingerprint of the certificate (of its DER), lower-case hex.',
  },
  {
    label: 'source',
    required: false,
    meaning:
      'Which file or set of files, where there are several. So does any label that is not in this list, such as `pid`: series with the same values of these are one source, as an entry of `sources[]` is.',
  },
  {
    label: 'issuer_key_id',
    required: false,
    meaning: `Authority key id of a leaf, as \`issuerKeyId\` of the document: \`${LEAF_METRIC}\` of another issuer needs it.`,
  },
  ...DESCRIPTIONS.map((label) => ({ label, required: false, meaning: 'For people. Not read.' })),
];

/** Labels that describe a certificate. All others name who holds it. */
const DESCRIBES: ReadonlySet<string> = new Set(['sha256', 'issuer_key_id', ...DESCRIPTIONS]);

export const METRICS_WORDING: Wording = {
  anchors: TRUST_METRIC,
  noAnchors: () => `has no ${TRUST_METRIC}`,
  leaf: LEAF_METRIC,
  noLeaf: `has no ${LEAF_METRIC}`,
  fingerprint: () => LEAF_METRIC,
  issuerKeyId: 'the label issuer_key_id',
};

const OURS = new RegExp(`^[ \\t]*(${TRUST_METRIC}|${LEAF_METRIC})(?![a-zA-Z0-9_:])`);
/** As in the text format of Prometheus 0.0.4: three escapes, and no others. */
const LABEL = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\[\\"n])*)"[ \t]*(,|(?=\}))/y;
const VALUE = /^[ \t]*([^ \t]+)[ \t]*([^ \t].*)?$/;
const NUMBER = /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/;
const FINGERPRINT = /^[0-9a-f]{64}$/;
const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

interface Holder {
  /** By fingerprint, whether it is held now; undefined: no series says anything of CAs. */
  anchors: Map<string, boolean> | undefined;
  readonly leaves: Map<string, { readonly isHeld: boolean; readonly issuerKeyId: string | undefined }>;
}

interface Series {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly isHeld: boolean;
}

const seriesIn = (line: string, name: string, at: number): Series => {
  const unreadable = (): Error => new Error(`a line of ${name} is not in the text format of Prometheus`);
  const labels = new Map<string, string>();
  let rest = line.slice(at);
  if (/^[ \t]*\{/.test(rest)) {
    let end = line.indexOf('{', at) + 1;
    while (!/[ \t]*\}/y.test(line.slice(end))) {
      LABEL.lastIndex = end;
      const [, label, text] = LABEL.exec(line) ?? [];
      if (label === undefined || text === undefined || labels.has(label)) throw unreadable();
      labels.set(
        label,
        text.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped)),
      );
      end = LABEL.lastIndex;
    }
    rest = line.slice(line.indexOf('}', end) + 1);
  }
  const [, value = '', time] = VALUE.exec(rest) ?? [];
  if (value === '') throw unreadable();
  if (time !== undefined)
    throw new Error(
      `${name} has a time or more behind its value; show what is in use at the moment of the answer`,
    );
  const number = NUMBER.test(value) ? Number(value) : Number.NaN;
  if (number !== 0 && number !== 1)
    throw new Error(
      `${name} has a value other than 0 and 1; where several processes are added up, show each with a label of its own`,
    );
  return { name, labels, isHeld: number === 1 };
};

/** Reads a metrics page as it comes, and keeps two families of it. Throws where they are no evidence, with the reason. */
export class MetricsPage {
  readonly #holders = new Map<string, Holder>();
  /** The beginning of a line; undefined: the rest of this line is skipped. */
  #line: Buffer | undefined = EMPTY;
  #bytes = 0;
  #series = 0;

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > METRICS_BOUNDS.bytes) throw new Error('the page is over 4 MiB');
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline;
      this.#add(chunk.subarray(at, end));
      if (newline >= 0) this.#endLine();
      at = end + 1;
    }
  }

  /** What the page shows. */
  end(): readonly SourceDocument[] {
    this.#endLine();
    if (this.#series === 0) throw new Error(`the page has neither ${TRUST_METRIC} nor ${LEAF_METRIC}`);
    return [...this.#holders.values()].flatMap(({ anchors, leaves }) => [
      ...(anchors === undefined
        ? []
        : [{ anchors: [...anchors].flatMap(([ca, isHeld]) => (isHeld ? [ca] : [])), leaf: undefined }]),
      ...[...leaves].flatMap(([fingerprint, { isHeld, issuerKeyId }]) =>
        isHeld
          ? [
              {
                anchors: undefined,
                leaf: { fingerprint, ...(issuerKeyId === undefined ? {} : { issuerKeyId }) },
              },
            ]
          : [],
      ),
    ]);
  }

  #add(piece: Buffer): void {
    if (this.#line === undefined) return;
    if (this.#line.length + piece.length <= METRICS_BOUNDS.line) {
      this.#line = this.#line.length === 0 ? piece : Buffer.concat([this.#line, piece]);
      return;
    }
    const begins = Buffer.concat([this.#line, piece.subarray(0, METRICS_BOUNDS.line)]).toString('latin1');
    const name = OURS.exec(begins)?.[1];
    if (name !== undefined) throw new Error(`a line of ${name} is over 4 KiB`);
    this.#line = undefined;
  }

  #endLine(): void {
    const line = this.#line ?? EMPTY;
    this.#line = EMPTY;
    // Most lines are others': they are not even decoded.
    if (!line.includes('tls_')) return;
    const text = line.toString('utf8');
    const [begin, name] = OURS.exec(text) ?? [];
    if (begin === undefined || name === undefined) return;
    if (++this.#series > METRICS_BOUNDS.series)
      throw new Error(
        `the page has over ${METRICS_BOUNDS.series} series of ${TRUST_METRIC} and ${LEAF_METRIC}`,
      );
    this.#keep(seriesIn(text, name, begin.length));
  }

  #keep({ name, labels, isHeld }: Series): void {
    const fingerprint = hex(labels.get('sha256') ?? '');
    if (!FINGERPRINT.test(fingerprint))
      throw new Error(`${name} has no label sha256 with the SHA-256 fingerprint of a certificate in hex`);
    const key = JSON.stringify([...labels].filter(([label]) => !DESCRIBES.has(label)).sort());
    const holder = this.#holders.get(key) ?? { anchors: undefined, leaves: new Map() };
    this.#holders.set(key, holder);
    const isTrust = name === TRUST_METRIC;
    const known = isTrust ? holder.anchors?.get(fingerprint) : holder.leaves.get(fingerprint)?.isHeld;
    if (known !== undefined && known !== isHeld)
      throw new Error(`${name} says of one certificate that it is held and that it is not`);
    if (isTrust) {
      holder.anchors ??= new Map();
      holder.anchors.set(fingerprint, isHeld);
      return;
    }
    const issuer = labels.get('issuer_key_id');
    holder.leaves.set(fingerprint, { isHeld, issuerKeyId: issuer === undefined ? undefined : hex(issuer) });
  }
}
