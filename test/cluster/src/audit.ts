import { existsSync, readFileSync } from 'node:fs';
import type { AuditEvent } from './api.ts';

export const readAudit = (path: string): readonly AuditEvent[] => {
  if (!existsSync(path)) return [];
  // The last piece is empty, or an unfinished line.
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as AuditEvent);
};
