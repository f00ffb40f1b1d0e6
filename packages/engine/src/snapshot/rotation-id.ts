import { EngineError } from '../error.ts';

const ROTATION_ID = /^[A-Za-z0-9][-A-Za-z0-9._:@+]{0,127}$/;

/** Refuses what cannot be the id of a rotation. */
export const checkRotationId = (id: string | undefined): void => {
  if (id === undefined || ROTATION_ID.test(id)) return;
  throw new EngineError(
    'ROTATION_ID_INVALID',
    `${JSON.stringify(id.slice(0, 64))} cannot be the id of a rotation; use up to 128 letters, digits and -._:@+`,
  );
};
