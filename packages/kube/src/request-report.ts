/** What a request was, once it has been answered or has failed: for metrics and logs. */
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
  /** Until the answer was there; of a watch: until it began. */
  readonly ms: number;
}

export type RequestSubject = Omit<RequestReport, 'status' | 'ms'>;
