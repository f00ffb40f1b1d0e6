import { day, hour, instant } from '@handover/material';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Certificates } from './certificates.ts';
import { type Class, Handshakes, type PeerStanding } from './handshakes.ts';

const START = Date.UTC(2030, 0, 1);
const known: PeerStanding = { known: true, stuck: false, strips: false };

it('handshakes counted by classes are as many as every pair checked one by one', () => {
  const certificates = new Certificates();
  const made = [1, 2, 3].map((n) => certificates.newCa(n, instant(START - hour), instant(START + 365 * day)));
  const cas = made.map(({ certificate }) => certificate.fingerprint);
  const leaves = made.map(
    (ca, n) =>
      certificates.leaf('a', ca, instant(START - hour), instant(START + (n + 1) * hour)).certificate
        .fingerprint,
  );
  const move = fc.record({
    who: fc.integer({ min: 0, max: 5 }),
    presents: fc.boolean(),
    which: fc.integer({ min: 0, max: 2 }),
    wait: fc.integer({ min: 0, max: 40 * 60_000 }),
  });
  fc.assert(
    fc.property(fc.array(move, { minLength: 1, maxLength: 25 }), (moves) => {
      const handshakes = new Handshakes(certificates, () => false);
      const chains = new Map<string, { shown: string; group: Class }>();
      const bundles = new Map<string, { held: string; group: Class }>();
      let at = START;
      let [count, failures] = [0, 0];
      for (const { who, presents, which, wait } of moves) {
        at += wait;
        const name = `c${who}`;
        const [leaf, ca] = [leaves[which] ?? '', cas[which] ?? ''];
        const before = (presents ? chains : bundles).get(name);
        if (before !== undefined) handshakes.leave(before.group, name);
        if (presents) chains.set(name, { shown: leaf, group: handshakes.present(name, [leaf], ca, known) });
        else bundles.set(name, { held: ca, group: handshakes.verify(name, [ca], known) });
        handshakes.step(at);
        for (const { shown } of chains.values()) {
          for (const { held } of bundles.values()) {
            count++;
            if (!certificates.verdict([shown], [held], instant(at)).ok) failures++;
          }
        }
      }
      expect([handshakes.count, handshakes.failures]).toEqual([count, failures]);
    }),
    { numRuns: 60 },
  );
});
