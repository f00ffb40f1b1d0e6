import { ERROR_CODES } from './error-codes.ts';
import { code, page, table } from './markdown.ts';

export const errorsPage = (): string =>
  page(
    'Errors',
    'Every error is one line on stderr, `CODE: what; what to do`; with `--json` it is `{"error": {"code": …, "message": …}}`. The codes are stable. Exit code 1, for `USAGE` 2, for `UNFINISHED` 70; `handover check` prints UNKNOWN and exits 3. The metric `handover_failures_total` counts errors by code.',
    table(
      ['code', 'means', 'what to do'],
      Object.entries(ERROR_CODES)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { means, todo }]) => [code(name), means, todo]),
    ),
  );
