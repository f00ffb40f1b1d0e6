import { annotationsPage } from './annotations.ts';
import { commandsPage } from './commands.ts';
import { errorsPage } from './errors.ts';
import { issuedPage } from './issued.ts';
import { metricsPage } from './metrics.ts';
import { resourcesPage } from './resources.ts';
import { statusDocumentPage, statusDocumentSchema } from './status-document.ts';

/** docs/reference, by file name, made from the code. */
export const referencePages = async (): Promise<Readonly<Record<string, string>>> => ({
  'annotations.md': annotationsPage(),
  'commands.md': await commandsPage(),
  'errors.md': errorsPage(),
  'issuance-log.md': issuedPage(),
  'metrics.md': await metricsPage(),
  'resources.md': resourcesPage(),
  'status-document.md': statusDocumentPage(),
  'status-document.schema.json': statusDocumentSchema(),
});
