import type { ContextOptions } from './client-source.ts';

export interface TlsProfile {
  tlsOptions(): ContextOptions;
  onSwap(listener: () => void): () => void;
}
