/** One fenced block of a document, and its position. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** Number of its first line, from 1. */
  readonly line: number;
  /** The paragraph right before it, as one line. */
  readonly before: string;
  /** Whether only an empty line separates this block from the previous one. */
  readonly follows: boolean;
}

/** Every fenced block of a Markdown text, those inside lists too. */
export const blocksOf = (markdown: string): readonly Block[] => {
  const blocks: Block[] = [];
  let open: { fence: string; indent: string; language: string; line: number; lines: string[] } | undefined;
  let paragraph: string[] = [];
  let last: string[] = [];
  let isFirst = true;
  for (const [index, line] of markdown.split('\n').entries()) {
    const [, indent = '', fence = '', language = ''] = /^(\s*)(`{3,})\s*(\S*)/.exec(line) ?? [];
    if (open !== undefined) {
      if (fence === open.fence && language === '') {
        const text = open.lines.map((each) => `${each}\n`).join('');
        const { line: at, language: of } = open;
        blocks.push({
          language: of,
          text,
          line: at,
          before: last.join(' '),
          follows: !isFirst && last.length === 0,
        });
        [open, paragraph, last, isFirst] = [undefined, [], [], false];
      } else open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    } else if (fence !== '') {
      if (paragraph.length > 0) last = paragraph;
      open = { fence, indent, language, line: index + 2, lines: [] };
    } else if (line.trim() === '') {
      if (paragraph.length > 0) last = paragraph;
      paragraph = [];
    } else paragraph.push(line.trim());
  }
  if (open !== undefined) throw new Error(`the block at line ${open.line} is not closed`);
  return blocks;
};

/** `` `ca/handover.yaml`: `` before a block names the file for its text. */
export const fileNameIn = ({ before }: Block): string | undefined => /(?:^| )`([^` ]+)`:$/.exec(before)?.[1];

const prose = (markdown: string): string => markdown.replace(/```[\s\S]*?```/g, '');

/** Targets of relative links: `other.md`, `other.md#heading`, `#heading`. */
export const linksOf = (markdown: string): readonly string[] =>
  [...prose(markdown).matchAll(/\]\(([^)\s]+)[^)]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** Anchors of all headings, as GitHub makes them. */
export const anchorsOf = (markdown: string): readonly string[] =>
  [...prose(markdown).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
