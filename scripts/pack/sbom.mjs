// A list of what is inside, as CycloneDX 1.5: the same content gives the same bytes, so there is no date and no serial number in it.

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

/** Of a package with code of others inside. A hash is that of the package as npm had it. */
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
