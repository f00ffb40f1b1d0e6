import type { Scope } from './fixture.ts';

/** What a client hears of a connection that goes on. */
export interface Heard {
  count(): number;
  isCut(): boolean;
  /** The server ends what it says; resolves when the client has heard the end. */
  finish(): Promise<void>;
  /** Another request on the same connection. Undefined: there is no such thing. */
  again?(): Promise<unknown>;
}

/** Says something every 5 ms until it is told to end. */
export const chatter = (scope: Scope, say: (text: string) => unknown, end: (text: string) => unknown) => {
  const timer = setInterval(() => say('more'), 5);
  scope.after(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    end('END');
  };
};

/** Listens to the end. */
export const hearing = (readable: NodeJS.ReadableStream, finish: () => void): Heard => {
  let count = 0;
  let text = '';
  let isCut = false;
  const ended = new Promise<void>((resolve) => {
    readable.on('data', (chunk) => {
      count++;
      text += chunk;
    });
    readable.on('error', () => undefined);
    readable.on('close', () => {
      isCut = !text.includes('END');
      resolve();
    });
  });
  return {
    count: () => count,
    isCut: () => isCut,
    finish: () => {
      finish();
      return ended;
    },
  };
};
