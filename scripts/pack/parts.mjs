// The third-party packages inside a bundle: those that contribute at least one byte, according to esbuild.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that require attribution only. */
const LICENCES = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

const FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

const folderOf = (input) => FOLDER.exec(input)?.[0];

/** Paths of the inputs that contribute to a bundle. */
export const inputsOf = ({ outputs }) =>
  Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([path]) => path),
  );

/** Texts that must be passed on: the licence, and the NOTICE if there is one (Apache-2.0, section 4). */
const noticesIn = (folder) =>
  readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice)(\.(md|txt))?$/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .join('\n\n');

/** `{ name, version, license, integrity, dependencies, text }` of each, by name. */
export const partsOf = (root, metafiles) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const folders = new Set(metafiles.flatMap(inputsOf).map(folderOf));
  folders.delete(undefined);
  return [...folders]
    .map((folder) => {
      const {
        name,
        version,
        license,
        dependencies = {},
      } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
      if (!LICENCES.includes(license))
        throw new Error(
          `${folder}: licence ${license} is not allowed in a published package; see docs/decisions/0910`,
        );
      return {
        name,
        version,
        license,
        integrity: packages[folder]?.integrity,
        dependencies: Object.keys(dependencies),
        text: noticesIn(join(root, folder)),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Every licence with its text, as the licences require. */
export const licencesOf = (parts) => {
  const texts = parts.map(({ name, version, license, text }) =>
    [`${name} ${version} (${license})`, '', text || `Its package says ${license}, and carries no text.`].join(
      '\n',
    ),
  );
  return `This package contains third-party code under these licences.\n\n${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
};
