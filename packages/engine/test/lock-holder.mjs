// Takes the lock of a home, then writes one object repeatedly until it loses the lock or has written often enough. While the home has a file
// `NAME-waits`, it writes no more after the first time.
import { existsSync } from 'node:fs';
import { systemClock } from '@handover/runtime/clock';
import { DirectoryHome, digestOf } from '../dist/index.js';

const [path, name, beatMs, staleMs, most] = process.argv.slice(2);
const ID = 'default/secrets/x';
const home = new DirectoryHome(path, {
  timers: systemClock,
  lock: { beatMs: Number(beatMs), staleMs: Number(staleMs) },
});
try {
  await home.lock();
  console.log('locked');
  for (let count = 1; count <= Number(most); count++) {
    const expect = (await home.objects.read(ID))?.version;
    const data = { 'ca.crt': Buffer.from(`${name} ${count}`) };
    // Without its digest, or of a file that is no part of a Secret, it would look like a change by another program and end in a standoff.
    await home.objects.write(ID, expect, (at) => ({
      data,
      record: { digest: digestOf(data), revisions: {}, anchors: [], changedAt: at },
    }));
    if (count === 1) console.log('wrote');
    do await new Promise((resolve) => setTimeout(resolve, 5));
    while (existsSync(`${path}/${name}-waits`));
  }
  console.log('done');
  setInterval(() => {}, 1_000);
} catch (error) {
  console.log(`${error.code}: ${error.message}`);
  process.exit(1);
}
