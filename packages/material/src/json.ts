/** An object of parsed JSON or YAML; not yet checked. */
export type Json = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A record in which a name finds what was put there under it, and nothing that every object has, such as `constructor`. */
export const recordOf = <T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> => {
  const record: Record<string, T> = Object.create(null);
  for (const [name, value] of entries) record[name] = value;
  return record;
};
