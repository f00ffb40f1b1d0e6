import { Document, isMap, isSeq } from 'yaml';
import {
  checkedOptions,
  featuresOf,
  type InstallOptions,
  type Page,
  pages,
  removablePages,
} from './install.ts';
import { lostWithoutCluster } from './rules.ts';

const wrapped = (text: string, width = 110): string => {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => ` ${line}`).join('\n');
};

const documentOf = ({ why, object, ruleWhys }: Page): string => {
  // kubectl and helm read YAML 1.1, to which the key `on` is true.
  const document = new Document(object, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  if (isMap(document.contents)) document.contents.commentBefore = wrapped(why);
  const rules = document.get('rules');
  if (ruleWhys !== undefined && isSeq(rules)) {
    for (const [index, item] of rules.items.entries()) {
      if (isMap(item)) item.commentBefore = ` ${ruleWhys[index] ?? ''}`;
    }
  }
  return document.toString({ lineWidth: 0 });
};

const header = (options: InstallOptions): string => {
  const { namespaced } = options;
  const lines = ['Made by `handover install`. Apply it with: kubectl apply -f -'];
  if (namespaced !== undefined) {
    lines.push(
      `The operator looks at ${namespaced.join(', ')} only, and has no right in the cluster. Applying this takes an administrator once.`,
      'What does not work this way:',
      ...lostWithoutCluster(featuresOf(options)).map((lost) => `- ${lost}`),
    );
  }
  return lines.map((line) => `# ${line}\n`).join('');
};

/** The installation as YAML: the same options, the same bytes. */
export const installationYaml = (given: InstallOptions): string => {
  const options = checkedOptions(given);
  return `${header(options)}---\n${pages(options).map(documentOf).join('---\n')}`;
};

/** What to delete of it, as YAML. */
export const removableYaml = (options: InstallOptions): string =>
  `# Made by \`handover uninstall\`. Delete it with: kubectl delete --ignore-not-found -f -\n---\n${removablePages(
    checkedOptions(options),
  )
    .map(documentOf)
    .join('---\n')}`;
