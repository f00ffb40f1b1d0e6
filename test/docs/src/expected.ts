/** Masks what differs between runs: times, hashes, numbers, and column widths. */
const masked = (line: string): string =>
  line
    .replace(/\d{4}-?\d\d-?\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b[0-9a-f]{8,}\b/g, 'HASH')
    .replace(/\d[\d,.]*/g, 'N')
    .replace(/\s+/g, ' ')
    .trim();

/** Why an output differs from the one in the document; `…` stands for any part of a line, or alone for any lines. */
export const difference = (shown: string, output: string): string | undefined => {
  const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const lines = shown.trimEnd().split('\n').map(masked);
  const source = lines
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escaped).join('.*')}\\n`))
    .join('');
  const said = `${output.trimEnd().split('\n').map(masked).join('\n')}\n`;
  return new RegExp(`^${source}$`).test(said) ? undefined : `shown:\n${lines.join('\n')}\nsaid:\n${said}`;
};
