export { HandoverError, type HandoverErrorOptions, type Retry } from './error.ts';
export { after, type Duration, day, duration, hour, type Instant, instant, minute, second } from './time.ts';
