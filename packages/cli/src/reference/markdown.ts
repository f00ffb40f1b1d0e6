/** `<name>` would be taken for HTML, unless it is code. */
export const prose = (text: string): string =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '\\<') : part))
    .join('`');

/** A cell must not end its row. */
const cell = (text: string): string => prose(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

const NOTE = '<!-- Made by `npm run generate` from the code. Do not edit. -->';

/** A whole page: paragraphs, headings and tables, each its own part. */
export const page = (title: string, ...parts: readonly string[]): string =>
  `${[`# ${title}`, NOTE, ...parts].join('\n\n')}\n`;

export const code = (text: string): string => `\`${text}\``;
