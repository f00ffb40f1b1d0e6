import { afterAll, beforeAll } from 'vitest';
import { contentsAreBytes } from '../contents.ts';
import { type Stage, setStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ crds: false });
}, 300_000);
afterAll(() => stage.stop());

contentsAreBytes(() => stage.kube);
