import { provide } from '../examples/programs.ts';

/** Before the first test. */
export const setup = (): void => provide(['openssl', 'nginx']);
