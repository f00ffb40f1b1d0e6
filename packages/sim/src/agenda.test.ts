import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Agenda } from './agenda.ts';

it('takes what is earliest, and of equals what was asked for first', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 }), (times) => {
      const agenda = new Agenda();
      const taken: number[] = [];
      times.forEach((at, index) => {
        agenda.add(at, () => taken.push(index));
      });
      for (let entry = agenda.take(); entry !== undefined; entry = agenda.take()) entry.act();
      const expected = times
        .map((at, index) => ({ at, index }))
        .sort((a, b) => a.at - b.at || a.index - b.index);
      expect(taken).toEqual(expected.map(({ index }) => index));
    }),
  );
});
