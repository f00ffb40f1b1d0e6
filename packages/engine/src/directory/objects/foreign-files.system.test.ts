// Each of some fifty writes, in a new home each time.
import { testKills } from '../../../test/foreign-folder.ts';

testKills(1);
