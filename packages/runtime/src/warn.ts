/** A process warning. */
export const warn = (code: string, message: string, detail?: string): void =>
  process.emitWarning(message, {
    type: 'HandoverWarning',
    code,
    ...(detail === undefined ? {} : { detail }),
  });
