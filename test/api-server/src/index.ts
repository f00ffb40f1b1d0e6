export { codeOf, eventually } from './eventually.ts';
export { FakeApiServer, type FakeApiServerOptions } from './fake-api-server.ts';
export { canHang, type HungFileSystem, hungFileSystem } from './hung-file-system.ts';
