declare const brand: unique symbol;

/** Milliseconds since the Unix epoch. */
export type Instant = number & { readonly [brand]: 'Instant' };
/** Milliseconds. */
export type Duration = number & { readonly [brand]: 'Duration' };

export const instant = (ms: number): Instant => ms as Instant;
export const duration = (ms: number): Duration => ms as Duration;

export const second = duration(1_000);
export const minute = duration(60_000);
export const hour = duration(3_600_000);
export const day = duration(86_400_000);

export const after = (at: Instant, wait: number): Instant => instant(at + wait);

export const iso = (at: number): string => new Date(at).toISOString();
/** As Kubernetes writes times: to the second. */
export const isoSeconds = (at: number): string => iso(at).replace(/\.\d+Z$/, 'Z');
