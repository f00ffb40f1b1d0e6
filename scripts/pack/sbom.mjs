// A CycloneDX 1.5 list of the contents. The same content gives the same bytes, so it has no date and no serial number.

const purlOf = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

const hashesOf = (integrity) => {
  const [, base64] = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity ?? '') ?? [];
  if (base64 === undefined) return {};
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }] };
};

const componentOf = (type, part) => ({
  type,
  'bom-ref': purlOf(part),
  name: part.name,
  version: part.version,
  ...hashesOf(part.integrity),
  licenses: [{ license: { id: part.license } }],
  purl: purlOf(part),
});

/** The list of a package with third-party code. Hashes are those of the npm packages. */
export const sbomOf = (source, parts) => {
  const refs = new Map(parts.map((part) => [part.name, purlOf(part)]));
  const own = purlOf(source);
  const inner = parts.map((part) => ({
    ref: purlOf(part),
    dependsOn: part.dependencies.flatMap((name) => refs.get(name) ?? []).sort(),
  }));
  const needed = new Set(inner.flatMap(({ dependsOn }) => dependsOn));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: componentOf(source.bin === undefined ? 'library' : 'application', source),
    },
    components: parts.map((part) => componentOf('library', part)),
    dependencies: [{ ref: own, dependsOn: [...refs.values()].filter((ref) => !needed.has(ref)) }, ...inner],
    compositions: [{ aggregate: 'complete', assemblies: [own] }],
  };
};
