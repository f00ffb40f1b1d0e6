import { syncBuiltinESMExports } from 'node:module';
import tls, {
  type ConnectionOptions,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import type { FollowedMaterial } from './material.ts';

/** The native half of a context, as `node:tls` keeps it. */
interface NativeContext {
  addCACert(pem: string | Buffer): void;
}

/** Members of a server that `node:tls` uses and does not declare. */
interface ServerInternals {
  setSecureContext(options: SecureContextOptions): void;
  addContext(hostname: string, context: SecureContextOptions | SecureContext): void;
  readonly _contexts?: [RegExp, unknown][];
}

/**
 * `node:tls` makes every context with `tls.createSecureContext`, and reads its native half at each handshake: so a context whose
 * native half is looked up follows the files, in agents, servers and drivers that know nothing of it. Tested on Node 20 to 26.
 */
function followContexts(material: FollowedMaterial): void {
  const { createSecureContext } = tls;
  let serves = false;

  const made = (options: SecureContextOptions = {}): SecureContext => {
    const followed = material.followedIn(options, serves);
    if (followed === undefined) {
      const own = createSecureContext(options);
      material.made(own, options, undefined);
      return own;
    }
    const own: (string | Buffer)[] = [];
    const follows = (): boolean => material.follows(followed, own);
    let newest: unknown;
    let version = 0;
    let live: SecureContext | undefined;
    let isKept = false;
    const keep = (): void => {
      if (isKept || live === undefined || !follows()) return;
      isKept = true;
      material.keep(live);
    };
    const build = (): SecureContext => {
      const context = createSecureContext(follows() ? material.optionsFor(options, followed) : options);
      const native = context.context as NativeContext;
      for (const pem of material.added(followed, own)) native.addCACert(pem);
      // What the program adds to the native half is added again when that is made again.
      const addCACert = native.addCACert.bind(native);
      native.addCACert = (pem) => {
        addCACert(pem);
        own.push(pem);
        material.addedTo(live ?? context, pem);
        // An older text of the file stands for the newest one. A half that was kept over a change is used no more.
        if (material.isOfFile(pem) || native !== newest) version = 0;
        keep();
      };
      newest = native;
      version = material.version;
      return context;
    };
    const first = build();
    // For one connection that is made now; Node 26 takes such a context apart afterwards.
    if ((options as { readonly singleUse?: boolean }).singleUse) {
      material.made(first, options, followed);
      return first;
    }
    const get = (): unknown => {
      if (version === material.version || !follows()) return newest;
      version = material.version;
      try {
        build();
      } catch (error) {
        material.refused(error, followed);
      }
      return newest;
    };
    live = Object.create(first, { context: { get, enumerable: true } }) as SecureContext;
    material.made(live, options, followed);
    keep();
    return live;
  };
  tls.createSecureContext = made;

  const server = tls.Server.prototype as unknown as ServerInternals;
  const { addContext, setSecureContext } = server;
  server.setSecureContext = function (this: ServerInternals, options) {
    serves = true;
    try {
      setSecureContext.call(this, options);
    } finally {
      serves = false;
    }
  };
  // A server keeps the native half of a context for a host name; it takes the whole context as well.
  server.addContext = function (this: ServerInternals, hostname, context) {
    serves = true;
    try {
      const live = 'context' in context ? context : made(context);
      addContext.call(this, hostname, live);
      const last = this._contexts?.at(-1);
      if (last !== undefined) last[1] = live;
    } finally {
      serves = false;
    }
  };
}

/** A session made with older material would resume past the newest trust. One whose origin is not known counts as the oldest. */
function dropOldSessions(material: FollowedMaterial): void {
  const connect = tls.connect as (...args: readonly unknown[]) => TLSSocket;
  const versions = new WeakMap<Buffer, number>();
  const { version: oldest } = material;
  const isOld = ({ session }: ConnectionOptions): boolean =>
    session !== undefined && (versions.get(session) ?? oldest) !== material.version;
  const without = (argument: unknown): unknown =>
    typeof argument === 'object' && argument !== null && isOld(argument)
      ? { ...argument, session: undefined }
      : argument;
  tls.connect = (...args: readonly unknown[]): TLSSocket => {
    const { version } = material;
    return connect(...args.map(without)).on('session', (session) => versions.set(session, version));
  };
}

/** Makes `node:tls`, and all that is built on it, follow the files from now on. */
export function patchTls(material: FollowedMaterial): void {
  followContexts(material);
  dropOldSessions(material);
  syncBuiltinESMExports();
}
