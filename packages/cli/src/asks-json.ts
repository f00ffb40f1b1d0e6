/** Whether the arguments ask for JSON, wherever the option stands. */
export const asksJson = (args: readonly string[]): boolean => {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
};

/** An error as `--json` has it. */
export const errorJson = (code: string, message: string): string =>
  JSON.stringify({ error: { code, message } });
