// npm run sbom: what is inside the packages in build/, in words. The lists themselves are build/*/sbom.cdx.json (CycloneDX 1.5).
import { readFileSync } from 'node:fs';
import { PUBLISHED } from './pack/published.mjs';

for (const { folder } of PUBLISHED) {
  const path = `build/${folder}/sbom.cdx.json`;
  const { metadata, components } = JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));
  const { name, version } = metadata.component;
  process.stdout.write(`${name} ${version}: ${components.length} packages of others inside (${path})\n`);
  for (const { name, version, licenses } of components)
    process.stdout.write(`  ${name} ${version}  ${licenses[0].license.id}\n`);
}
