import type { Nature } from './model.ts';

export const hot = (object: string): Nature => ({
  reload: 'hot',
  presents: object,
  verifies: object,
  acknowledges: true,
});
export const promised = (object: string): Nature => ({
  reload: 'hot',
  presents: object,
  verifies: object,
  ownersWord: true,
});
export const stubborn = (object: string): Nature & { pods: number } => ({
  reload: 'restart',
  presents: object,
  verifies: object,
  pods: 2,
});
export const instantly = { strategy: 'Instant' } as const;
