import { provide } from '../../../cli/test/examples/programs.ts';

/** Before the first test. */
export const setup = (): void => provide(['openssl', 'nginx']);
