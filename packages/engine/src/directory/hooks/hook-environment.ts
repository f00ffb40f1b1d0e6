/** What a hook inherits. No more: the environment of a service may hold passwords, or a socket that speaks for the service. */
const INHERITED = [
  'DBUS_SESSION_BUS_ADDRESS',
  'HOME',
  'LANG',
  'LC_ALL',
  'LOGNAME',
  'TMPDIR',
  'TZ',
  'USER',
  'XDG_RUNTIME_DIR',
] as const;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The environment of a hook: a few variables of ours, and what it is about. */
export const hookEnvironment = (
  facts: Readonly<Record<string, string>>,
  own: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string>> => ({
  PATH: own.PATH ?? PATH,
  ...Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = own[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
  ...facts,
});
