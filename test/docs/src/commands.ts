export interface Step {
  /** The text for bash: several lines if it continues, or has a here-document. */
  readonly text: string;
  readonly line: number;
  /** From the comment after it: `# exit 1: …`. */
  readonly exitCode: number;
}

/** Single commands of a block, so that an error can name the line of a command that fails or never ends. */
export const stepsOf = (text: string, firstLine: number): readonly Step[] => {
  const steps: Step[] = [];
  let lines: string[] = [];
  let begun = firstLine;
  let end: string | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (lines.length === 0) {
      if (line.trim() === '' || line.trim().startsWith('#')) continue;
      begun = firstLine + index;
    }
    lines.push(line);
    if (end !== undefined) {
      if (line.trim() !== end) continue;
      end = undefined;
    } else {
      end = /<<-?\s*['"]?(\w+)/.exec(line)?.[1];
      if (end !== undefined || /(\\|\||&&)\s*$/.test(line)) continue;
    }
    const whole = lines.join('\n');
    const exitCode = Number(/\s# .*\bexit (\d)\b/.exec(whole)?.[1] ?? 0);
    steps.push({ text: whole, line: begun, exitCode });
    lines = [];
  }
  if (lines.length > 0) throw new Error(`the command at line ${begun} does not end`);
  return steps;
};

/** The command without its comment and spare blanks. */
export const plain = ({ text }: Step): string =>
  text
    .replace(/\s+# .*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
