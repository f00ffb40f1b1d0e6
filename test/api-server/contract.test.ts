import { contract } from './contract/contract.ts';
import { FakeApiServer } from './src/index.ts';

contract('the server in this process', async () => {
  const server = await FakeApiServer.start();
  return {
    config: server.config,
    forget: async () => server.compact(),
    stop: () => server.stop(),
  };
});
