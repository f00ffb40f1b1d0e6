import { createHash } from 'node:crypto';
import type { PageAnswer } from '@handover/engine';

/** An account as in a TokenReview and a SubjectAccessReview. */
export interface Account {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Questions to the API server about tokens. Both throw when it does not answer. */
export interface Reviews {
  /** Undefined: the token is unknown. */
  accountOf(token: string): Promise<Account | undefined>;
  /** Whether the account may `get` the path `/metrics`. */
  mayRead(account: Account): Promise<boolean>;
}

type Verdict = 'unknown' | 'refused' | 'allowed';

/** Milliseconds for which an answer is cached: a revoked token or right is still accepted for that long at most. */
const GOOD_FOR: Readonly<Record<Verdict, number>> = { unknown: 10_000, refused: 10_000, allowed: 60_000 };
const MOST_REMEMBERED = 256;
/** Reviews of new tokens at the same time, in all and for one client: invented tokens must not keep the API server busy, nor others out. */
const MOST_UNDER_WAY = { inAll: 8, each: 2 } as const;

/** Stands for clients with a token that was allowed before. */
const KNOWN_CLIENT = 'known';

/** RFC 6750 §2.1. */
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i;

const ANSWERS = {
  unknown: {
    status: 401,
    body: 'send a token of this cluster: Authorization: Bearer TOKEN\n',
    headers: { 'www-authenticate': 'Bearer realm="handover"' },
  },
  refused: {
    status: 403,
    body: 'this account may not get /metrics; bind it to the ClusterRole whose name ends with -metrics-reader\n',
  },
  unavailable: {
    status: 503,
    body: 'the API server cannot check this token now; try again\n',
    headers: { 'retry-after': '5' },
  },
} as const satisfies Record<string, PageAnswer>;

interface Known {
  readonly verdict: Verdict;
  readonly until: number;
}

export interface AccessOptions {
  readonly reviews: Reviews;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

/** Lets accounts read metrics that RBAC allows to `get` the path `/metrics`. */
export class MetricsAccess {
  readonly #options: AccessOptions;
  /** By the token's hash: tokens themselves are not stored. */
  readonly #known = new Map<string, Known>();
  /** Tokens that were allowed when they were reviewed last: invented ones take no place of theirs. */
  readonly #allowed = new Map<string, Known>();
  readonly #underWay = new Map<string, { readonly client: string; readonly review: Promise<Verdict> }>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** The answer to a request without the right; undefined: it is allowed. `client`: its address. */
  async refusal(authorization: string | undefined, client = ''): Promise<PageAnswer | undefined> {
    const token = BEARER.exec(authorization ?? '')?.[1];
    if (token === undefined) return ANSWERS.unknown;
    try {
      const verdict = await this.#verdict(token, client);
      return verdict === undefined
        ? ANSWERS.unavailable
        : verdict === 'allowed'
          ? undefined
          : ANSWERS[verdict];
    } catch (error) {
      this.#options.onFailure(error);
      return ANSWERS.unavailable;
    }
  }

  async #verdict(token: string, client: string): Promise<Verdict | undefined> {
    const hash = createHash('sha256').update(token).digest('base64');
    const wasAllowed = this.#allowed.get(hash);
    const known = wasAllowed ?? this.#known.get(hash);
    if (known !== undefined && this.#options.now() < known.until) return known.verdict;
    const underWay = this.#underWay.get(hash);
    if (underWay !== undefined) return underWay.review;
    // A token that was good is reviewed whatever else is under way.
    if (wasAllowed === undefined && !this.#hasPlace(client)) return undefined;
    const review = this.#review(token).finally(() => this.#underWay.delete(hash));
    this.#underWay.set(hash, { client: wasAllowed === undefined ? client : KNOWN_CLIENT, review });
    const verdict = await review;
    this.#remember(hash, verdict);
    return verdict;
  }

  #hasPlace(client: string): boolean {
    const open = [...this.#underWay.values()].filter((one) => one.client !== KNOWN_CLIENT);
    const own = open.filter((one) => one.client === client);
    return open.length < MOST_UNDER_WAY.inAll && own.length < MOST_UNDER_WAY.each;
  }

  async #review(token: string): Promise<Verdict> {
    const { reviews } = this.#options;
    const account = await reviews.accountOf(token);
    if (account === undefined) return 'unknown';
    return (await reviews.mayRead(account)) ? 'allowed' : 'refused';
  }

  #remember(hash: string, verdict: Verdict): void {
    for (const known of [this.#known, this.#allowed]) known.delete(hash);
    const known = verdict === 'allowed' ? this.#allowed : this.#known;
    known.set(hash, { verdict, until: this.#options.now() + GOOD_FOR[verdict] });
    const [oldest] = known.keys();
    if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest);
  }
}
