export { codeOf, eventually } from './eventually.ts';
export { FakeApiServer, type FakeApiServerOptions } from './fake-api-server.ts';
