/** A failure in the API's own words. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    reason: string,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      details: this.details,
      code: this.status,
    };
  }
}

export const notFound = (plural: string, name: string): ApiFailure =>
  new ApiFailure(404, 'NotFound', `${plural} "${name}" not found`, { name, kind: plural });

export const noSuchResource = (): ApiFailure =>
  new ApiFailure(404, 'NotFound', 'the server could not find the requested resource');

export const conflict = (plural: string, name: string, why: string): ApiFailure =>
  new ApiFailure(409, 'Conflict', `Operation cannot be fulfilled on ${plural} "${name}": ${why}`, {
    name,
    kind: plural,
  });

export const invalid = (kind: string, name: string, field: string, why: string): ApiFailure =>
  new ApiFailure(422, 'Invalid', `${kind} "${name}" is invalid: ${field}: ${why}`, {
    name,
    kind,
    causes: [{ reason: 'FieldValueInvalid', field, message: why }],
  });

export const badRequest = (message: string): ApiFailure => new ApiFailure(400, 'BadRequest', message);

export const expired = (version: string): ApiFailure =>
  new ApiFailure(410, 'Expired', `too old resource version: ${version}`);
