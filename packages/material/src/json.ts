/** An object of parsed JSON or YAML; not yet checked. */
export type Json = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
