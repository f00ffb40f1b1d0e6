// Each of some hundred file operations, in a new copy of the home each time: half a minute of a processor.
import { testKills } from '../../test/crashes.ts';

testKills(1);
