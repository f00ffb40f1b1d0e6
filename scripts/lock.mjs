// What `npm run check` wants of package-lock.json: every package is named by its bytes, on every platform, and none has to run a script.

/** Packages with an install script that nothing here needs: `npm ci --ignore-scripts` is enough (docs/decisions/0405). */
const SCRIPTS_NOT_NEEDED = {
  esbuild: 'its binary is an optional package; the script only makes it start a little sooner',
  protobufjs: 'the script only warns about versions',
};

const nameOf = (key) => key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length);
const isOurs = (key, entry) => entry.link === true || !key.includes('node_modules/');

/** Whether npm would find `name` for the package at `key`: in its own folder, or in one around it. */
const isFound = (packages, key, name) => {
  for (let at = key; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    if (packages[`${at}${at === '' ? '' : '/'}node_modules/${name}`] !== undefined) return true;
    if (at === '') return false;
  }
};

/** Everything that is wrong with a lock, one line each. */
export const problemsInLock = ({ packages }) => {
  const problems = [];
  for (const [key, entry] of Object.entries(packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!isFound(packages, key, name))
        problems.push(
          `${name}: not there, so \`npm ci\` fails where ${nameOf(key)} needs it; choose a version that the registry has for every platform`,
        );
    }
    if (isOurs(key, entry)) continue;
    const name = nameOf(key);
    if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? ''))
      problems.push(`${name}: no sha512 integrity; whatever a registry sends would be installed`);
    if (entry.resolved !== undefined && !/^https:\/\/\S+\.tgz$/.test(entry.resolved))
      problems.push(`${name}: comes from ${entry.resolved}, which is no package of a registry`);
    if (entry.hasInstallScript === true && !Object.hasOwn(SCRIPTS_NOT_NEEDED, name))
      problems.push(
        `${name}: has an install script; see whether all works without it, and say so in scripts/lock.mjs`,
      );
  }
  return problems;
};
