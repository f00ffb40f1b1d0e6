// Apart from the session: it is published, and so is what its file imports.

/** A request that was answered or failed. For metrics and logs. */
export interface RequestReport {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** 0: no answer. */
  readonly status: number;
  /** Milliseconds until the answer; for a watch, until its beginning. */
  readonly ms: number;
}

export type RequestSubject = Omit<RequestReport, 'status' | 'ms'>;
