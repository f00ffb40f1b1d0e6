// Loaded into a program that is walked: SIGUSR2 begins a walk, and SIGUSR2 again ends it and writes every function that ran meanwhile to WALK_FILE.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

const session = new Session();
session.connect();
await session.post('Profiler.enable');

/** `operator/run/event-router`, of the sources' build. */
const OURS = /\/packages\/([^/]+)\/dist\/(.+)\.js$/;

const functionsThatRan = async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  return result.flatMap(({ url, functions }) => {
    const [, name, path] = OURS.exec(url) ?? [];
    const ran = functions.filter(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0);
    return path === undefined || ran.length === 0
      ? []
      : [{ file: `${name}/${path}`, functions: ran.map(({ functionName }) => functionName) }];
  });
};

let isWalking = false;
process.on('SIGUSR2', async () => {
  isWalking = !isWalking;
  if (isWalking) {
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return;
  }
  const { WALK_FILE } = process.env;
  writeFileSync(`${WALK_FILE}.part`, JSON.stringify(await functionsThatRan()));
  renameSync(`${WALK_FILE}.part`, WALK_FILE);
});
