// npm run sbom: prints what the packages in build/ contain. The lists themselves are build/*/sbom.cdx.json (CycloneDX 1.5).
import { readFileSync } from 'node:fs';
import { PUBLISHED } from './pack/published.mjs';

for (const { folder } of PUBLISHED) {
  const path = `build/${folder}/sbom.cdx.json`;
  const { metadata, components } = JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));
  const { name, version } = metadata.component;
  process.stdout.write(`${name} ${version}: ${components.length} third-party packages inside (${path})\n`);
  for (const { name, version, licenses } of components)
    process.stdout.write(`  ${name} ${version}  ${licenses[0].license.id}\n`);
}
