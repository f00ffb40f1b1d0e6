import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
// A link in its place would redirect the write; a FIFO would block it.
const FLAGS = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
const NEW_LINE = 10;

/** Appends whole lines durably. A last line that a crash cut short stays as it is; the new lines start on a line of their own. */
export const appendLines = async (
  path: string,
  lines: string,
  mode: number,
): Promise<{ readonly size: number }> => {
  const file = await open(path, FLAGS, mode);
  try {
    const facts = await file.stat();
    const { size } = facts;
    if (!facts.isFile())
      throw Object.assign(new Error(`${path} is not a file`), {
        code: facts.isDirectory() ? 'EISDIR' : 'ENXIO',
      });
    if (size === 0) {
      const owner = await stat(dirname(path));
      // A run as root must not leave a file that the directory's owner cannot write.
      if (process.getuid?.() === 0) await file.chown(owner.uid, owner.gid);
      await file.chmod(mode); // the umask may have cleared bits
    }
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    const torn = size > 0 && last[0] !== NEW_LINE;
    const bytes = Buffer.from(`${torn ? '\n' : ''}${lines}`);
    await file.writeFile(bytes);
    await file.datasync();
    return { size: size + bytes.length };
  } finally {
    await file.close();
  }
};
