import { contract } from './contract/contract.ts';
import { FakeApiServer, TestClock } from './src/index.ts';

contract('the server in this process', async () => {
  const clock = new TestClock();
  const server = await FakeApiServer.start({ clock });
  return {
    clock,
    config: server.config,
    forget: async () => server.compact(),
    stop: () => server.stop(),
  };
});
