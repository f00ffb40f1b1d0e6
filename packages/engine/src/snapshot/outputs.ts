import { createHash, createHmac, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { type Leaf, type OutputMaterial, outputBytes, Password, type TrustBundle } from '@handover/core';
import { type Certificate, type Clock, HandoverError, PrivateKey } from '@handover/material';
import { EngineError } from '../error.ts';
import { inParallel } from '../scheduling/in-parallel.ts';
import { LOOK_LASTS, within } from './deadlines.ts';
import type { FileData, ObjectId, ObjectRecord } from './home.ts';
import { Memo } from './memo.ts';

type Target = TrustBundle['spec']['targets'][number];
type LeafOutput = Leaf['spec']['outputs'][number];
type BundleOutput = NonNullable<Target['configMap']>['outputs'][number];

/** One more file of an object, as its resource asks for it, with the name that its entries have by default. */
export type Output = (LeafOutput | BundleOutput) & { readonly alias: string };
type PasswordFrom = NonNullable<Output['passwordFrom']>;

export const outputsOfLeaf = ({ metadata, spec }: Leaf): readonly Output[] =>
  spec.outputs.map((output) => ({
    ...output,
    alias: output.alias ?? (output.content === 'trust' ? 'ca' : metadata.name),
  }));

export const outputsOfTarget = ({ configMap, secret }: Target): readonly Output[] =>
  (configMap ?? secret)?.outputs ?? [];

/** Reads a password where a resource says that it is. */
export interface PasswordReader {
  /** `namespace`: of the object that is written. */
  password(from: PasswordFrom, namespace: string): Promise<Password>;
}

/** The files that an object has beside its PEM, with their passwords. */
interface PreparedOutputs {
  readonly files: readonly { readonly output: Output; readonly password: Password }[];
  /** Those that were made last: a fleet has the same one in every namespace, and each costs ten thousand hashes. */
  readonly truststores: Memo<Uint8Array>;
  /** Another print: files of another format or password than those that are asked for now. */
  readonly print: string;
}

/** `missing`: why one of them cannot be made, and what to do. */
export type Outputs = PreparedOutputs | { readonly missing: string };

const UNREAD = `its password was not read within ${LOOK_LASTS.passwordsMs / 1_000} s; the next look reads it`;

const derive = promisify(pbkdf2);
const PRINT_ITERATIONS = 100_000;

const NO_PASSWORDS: PasswordReader = {
  password: async () => {
    throw new EngineError('PASSWORD_MISSING', 'this home reads no passwords');
  },
};

const specOf = ({ name, format, content, keyFormat, alias }: Output): readonly string[] => [
  name,
  format,
  content,
  keyFormat,
  alias,
];

/** Passwords by where they are, as far as they can be read: the error says why not, and what to do. */
type ReadPasswords = ReadonlyMap<PasswordFrom, Password | HandoverError>;

const CONCURRENT_READS = 32;

const namespaceOf = (object: ObjectId): string => object.split('/', 1)[0] ?? '';

/** Reads passwords for a home, which keeps it: what is costly to make is made once. */
export class OutputPreparer {
  readonly #clock: Clock;
  readonly #passwords: PasswordReader;
  readonly #prints = new Memo<Promise<Buffer>>(1_000);
  readonly #truststores = new Memo<Uint8Array>(64);

  constructor(clock: Clock, passwords: PasswordReader = NO_PASSWORDS) {
    this.#clock = clock;
    this.#passwords = passwords;
  }

  /** Reads the passwords of every object that has outputs. One that cannot be read holds up its own object and no other. */
  async prepare(wanted: ReadonlyMap<ObjectId, readonly Output[]>): Promise<ReadonlyMap<ObjectId, Outputs>> {
    const passwords = await this.#read(wanted);
    const all = new Map<ObjectId, Outputs>();
    for (const [object, outputs] of wanted) all.set(object, await this.#prepared(object, outputs, passwords));
    return all;
  }

  /** At once: a file system that does not answer must not hold up what lies on another. */
  async #read(wanted: ReadonlyMap<ObjectId, readonly Output[]>): Promise<ReadPasswords> {
    const late = this.#clock.monotonic() + LOOK_LASTS.passwordsMs;
    const asked = [...wanted].flatMap(([object, outputs]) =>
      outputs.flatMap(({ name, passwordFrom }) =>
        passwordFrom === undefined ? [] : [{ from: passwordFrom, name, namespace: namespaceOf(object) }],
      ),
    );
    const read = new Map<PasswordFrom, Password | HandoverError>();
    await inParallel(asked, CONCURRENT_READS, async ({ from, name, namespace }) => {
      const unread = (): HandoverError =>
        new EngineError('PASSWORD_MISSING', `output ${name}: ${UNREAD}`, { retry: 'later' });
      try {
        const found = this.#passwords.password(from, namespace);
        const left = Math.max(0, late - this.#clock.monotonic());
        read.set(from, await within<Password | HandoverError>(this.#clock, left, found, unread));
      } catch (error) {
        if (!(error instanceof HandoverError)) throw error;
        read.set(from, error);
      }
    });
    return read;
  }

  async #prepared(object: ObjectId, outputs: readonly Output[], passwords: ReadPasswords): Promise<Outputs> {
    const files: { readonly output: Output; readonly password: Password }[] = [];
    const sum = createHmac('sha256', 'handover.dev/outputs/1');
    for (const output of outputs) {
      sum.update(JSON.stringify(specOf(output)));
      const { passwordFrom: from } = output;
      const password = from === undefined ? Password.wellKnown : passwords.get(from);
      if (!(password instanceof Password)) return { missing: password?.message ?? UNREAD };
      if (from !== undefined) {
        const place = from.file ?? `${namespaceOf(object)}/${from.secret?.name}`;
        sum.update(await this.#print(password, place));
      }
      files.push({ output, password });
    }
    return { files, truststores: this.#truststores, print: sum.digest('hex').slice(0, 32) };
  }

  /** As slow to guess as a password in a keystore: the print of it stands in a record that more people can read than the file. */
  #print(password: Password, place: string): Promise<Buffer> {
    const sum = createHash('sha256').update(`${place.length}:${place}`).update(password.bytes);
    return this.#prints.get(sum.digest('base64'), () =>
      derive(password.bytes, place, PRINT_ITERATIONS, 16, 'sha256'),
    );
  }
}

const truststore = (
  made: Memo<Uint8Array>,
  output: Output,
  password: Password,
  anchors: readonly Certificate[],
): Uint8Array => {
  const sum = createHash('sha256').update(JSON.stringify(specOf(output)));
  sum.update(JSON.stringify(anchors.map(({ fingerprint }) => fingerprint))).update(password.bytes);
  return made.get(sum.digest('base64'), () => outputBytes(output, { anchors }, password));
};

/** The files themselves. `outputs` undefined: there are none. */
export const outputFiles = (
  outputs: Outputs | undefined,
  material: {
    readonly leaf?: {
      readonly chain: NonNullable<OutputMaterial['identity']>['chain'];
      readonly key: Uint8Array;
    };
    readonly anchors: readonly Certificate[];
  },
): FileData => {
  if (outputs === undefined) return {};
  if ('missing' in outputs) throw new EngineError('PASSWORD_MISSING', outputs.missing, { retry: 'later' });
  const { leaf, anchors } = material;
  const identity = leaf === undefined ? undefined : { chain: leaf.chain, key: PrivateKey.parse(leaf.key) };
  return Object.fromEntries(
    outputs.files.map(({ output, password }) => [
      output.name,
      output.content === 'trust'
        ? truststore(outputs.truststores, output, password, anchors)
        : outputBytes(output, { anchors, ...(identity === undefined ? {} : { identity }) }, password),
    ]),
  );
};

/** Whether an object has the files that are asked for now; those whose password cannot be read count as they are. */
export const hasAsked = (record: ObjectRecord, wanted: Outputs | undefined): boolean =>
  (wanted !== undefined && 'missing' in wanted) || record.outputs?.print === wanted?.print;

/** What a record remembers of them. */
export const outputsRecord = (outputs: Outputs | undefined) =>
  outputs === undefined || 'missing' in outputs
    ? {}
    : { outputs: { print: outputs.print, files: outputs.files.map(({ output }) => output.name) } };
