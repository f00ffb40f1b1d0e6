export { type ApiServer, type ApiServerOptions, apiServer } from './api-server.ts';
export { codeOf, eventually } from './eventually.ts';
export { FakeApiServer, type FakeApiServerOptions } from './fake-api-server.ts';
export type { SeenRequest } from './faults.ts';
export { freePort } from './free-port.ts';
export { canHang, type HungFileSystem, hungFileSystem } from './hung-file-system.ts';
export { namespaceObject } from './namespace-object.ts';
export { type FolderOptions, temporaryFolder } from './temporary-folder.ts';
export { atRest, TestClock } from './test-clock.ts';
