// What `npm run check` requires of package-lock.json: a hash for every package, every platform's packages, and no install script.

/** Packages whose install script is not needed here: `npm ci --ignore-scripts` is enough (docs/decisions/0405). */
const SCRIPTS_NOT_NEEDED = {
  esbuild: 'its binary is an optional package; the script only makes it start sooner',
  protobufjs: 'the script only warns about versions',
};

const nameOf = (key) => key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length);
const isOurs = (key, entry) => entry.link === true || !key.includes('node_modules/');

/** Whether npm would find `name` for the package at `key`: in its own folder, or in a parent folder. */
const isFound = (packages, key, name) => {
  for (let at = key; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    if (packages[`${at}${at === '' ? '' : '/'}node_modules/${name}`] !== undefined) return true;
    if (at === '') return false;
  }
};

/** Every problem of a lock, one line each. */
export const problemsInLock = ({ packages }) => {
  const problems = [];
  for (const [key, entry] of Object.entries(packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!isFound(packages, key, name))
        problems.push(
          `${name}: missing, so \`npm ci\` fails where ${nameOf(key)} needs it; choose a version that the registry has for every platform`,
        );
    }
    if (isOurs(key, entry)) continue;
    const name = nameOf(key);
    if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? ''))
      problems.push(
        `${name}: no sha512 integrity, so npm would install whatever a registry sends; run npm install against a registry that has it`,
      );
    if (entry.resolved !== undefined && !/^https:\/\/\S+\.tgz$/.test(entry.resolved))
      problems.push(
        `${name}: comes from ${entry.resolved}, not from a registry; depend on a published version`,
      );
    if (entry.hasInstallScript === true && !Object.hasOwn(SCRIPTS_NOT_NEEDED, name))
      problems.push(
        `${name}: has an install script; check that everything works without it, and list it in scripts/lock.mjs`,
      );
  }
  return problems;
};
