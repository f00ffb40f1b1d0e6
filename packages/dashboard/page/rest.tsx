import type { RestShown as RestDocument } from '../src/document.ts';

export const Rest = ({ rest }: { rest: RestDocument }) => {
  const { trustBundles, tlsProfiles, run, remarks } = rest;
  const problems = run?.problems ?? [];
  if (trustBundles.length + tlsProfiles.length + problems.length + remarks.length === 0) return null;
  return (
    <section class="rest" aria-labelledby="rest">
      <h2 id="rest">Bundles, profiles, warnings</h2>
      <ul>
        {trustBundles.map(({ name, targets, hook }) => (
          <li key={`b ${name}`}>
            <b>{name}</b> bundle in {targets.length} {targets.length === 1 ? 'object' : 'objects'}
            {targets[0] === undefined
              ? ''
              : `, ${targets[0].certificates} ${targets[0].certificates === 1 ? 'certificate' : 'certificates'}`}
            {hook?.state === 'failed' && <span class="remark">; its hook failed: {hook.message}</span>}
          </li>
        ))}
        {tlsProfiles.map(({ namespace, name, type, written, problems }) => (
          <li key={`p ${namespace}/${name}`}>
            <b>
              {namespace}/{name}
            </b>{' '}
            TLS profile {type}, {written ? 'written' : 'not written'}
            {problems.length > 0 && `: ${problems.join('; ')}`}
          </li>
        ))}
        {problems.map(({ what, code, message, since }) => (
          <li key={`f ${what} ${code}`} class="remark">
            {code}: {message} (since {since})
          </li>
        ))}
        {remarks.map((remark) => (
          <li key={remark} class="remark">
            {remark}
          </li>
        ))}
      </ul>
    </section>
  );
};
