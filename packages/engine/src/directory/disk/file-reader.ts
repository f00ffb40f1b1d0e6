// A process that reads files which may block it. It is started by subprocess-reader.ts, and ended when one does.
import { systemClock } from '@handover/runtime/clock';
import { askSocket } from '../../evidence/fetch-text.ts';
import { diskFiles } from './files.ts';
import { readPath } from './path-snapshot.ts';
import { type Answer, type Question, serializeError } from './reader-messages.ts';

const answerTo = async ({ look, document }: Question): Promise<Answer> => {
  try {
    if (look !== undefined) {
      const { trouble, ...seen } = readPath(diskFiles, look);
      return { seen, ...(trouble === undefined ? {} : { trouble: serializeError(trouble) }) };
    }
    return { document: await askSocket(document, systemClock) };
  } catch (error) {
    return { failed: serializeError(error) };
  }
};

process.on('message', async (asked: Question) => process.send?.(await answerTo(asked)));
// It ends with the process that asks: a signal to all of a terminal or of a service is for that one.
process.on('disconnect', () => process.exit());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.send?.('ready');
