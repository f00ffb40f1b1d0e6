export { FakeApiServer, type FakeApiServerOptions, objectsOf } from './fake-api-server.ts';
export { type Fault, Faults, type SeenRequest } from './faults.ts';
