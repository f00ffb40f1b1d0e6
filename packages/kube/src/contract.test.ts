import { contract } from '../test/contract.ts';
import { FakeApiServer } from './testing/index.ts';

contract('the server in this process', () => FakeApiServer.start());
