import type { BundleWrite, LeafWrite } from '@handover/core';
import { day, duration, hour, instant } from '@handover/material';
import { describe, expect, it } from 'vitest';
import { Certificates } from './certificates.ts';
import { Home } from './home.ts';

const START = Date.UTC(2030, 0, 1);

const setting = () => {
  let time = START;
  const certificates = new Certificates();
  const home = new Home(certificates, () => time);
  const ca = (generation: number): string =>
    certificates.mintCa(generation, instant(START), duration(365 * day)).fingerprint;
  const bundle = (anchors: readonly string[], expect: string | undefined): BundleWrite => ({
    kind: 'write-bundle',
    object: 'trust',
    expect,
    revision: 1,
    anchors,
    why: 'a test',
  });
  return { home, ca, bundle, pass: (ms: number) => (time += ms) };
};

describe('the home', () => {
  it('keeps the date of an anchor for as long as it is there without a break', () => {
    const { home, ca, bundle, pass } = setting();
    const [one, two] = [ca(1), ca(2)];
    home.write(bundle([one], undefined), undefined, undefined);
    pass(1000);
    home.write(bundle([two, one], home.object('trust')?.version), undefined, undefined);
    pass(1000);
    home.write(bundle([two], home.object('trust')?.version), undefined, undefined);
    pass(1000);
    home.write(bundle([two, one], home.object('trust')?.version), undefined, undefined);
    expect(home.object('trust')?.anchors).toEqual([
      { fingerprint: two, since: START + 1000 },
      { fingerprint: one, since: START + 3000 },
    ]);
  });

  it('dates a change of the set, not a rewrite of the same one', () => {
    const { home, ca, bundle, pass } = setting();
    const [one, two] = [ca(1), ca(2)];
    home.write(bundle([two, one], undefined), undefined, undefined);
    pass(1000);
    home.write(bundle([one, two], home.object('trust')?.version), undefined, undefined);
    expect(home.object('trust')?.changedAt).toBe(START);
  });

  it('lets no write land on a version it was not decided on, and no creation on what exists', () => {
    const { home, ca, bundle } = setting();
    const one = ca(1);
    expect(home.write(bundle([one], 'gone'), undefined, undefined)).toBe('conflict');
    expect(home.write(bundle([one], undefined), undefined, undefined)).toBe('landed');
    expect(home.write(bundle([one], undefined), undefined, undefined)).toBe('conflict');
    const { version } = home.object('trust') ?? {};
    home.touch('trust');
    expect(home.write(bundle([one], version), undefined, undefined)).toBe('conflict');
  });

  it('keeps the leaf and its dates when only the bundle changes', () => {
    const { home, ca, pass } = setting();
    const one = ca(1);
    const write = (issue: LeafWrite['issue'], chain: readonly string[] | undefined): LeafWrite => ({
      kind: 'write-leaf',
      object: 's',
      expect: home.object('s')?.version,
      revision: 1,
      anchors: [one],
      issue,
      chain,
      why: 'a test',
    });
    const issue = {
      generation: 1,
      notBefore: instant(START - hour),
      notAfter: instant(START + day),
      othersExpire: undefined,
      replacesOne: false,
    };
    home.write(write(issue, []), one, 'spec');
    const first = home.object('s')?.leaf;
    pass(1000);
    home.write(write(undefined, undefined), undefined, undefined);
    expect(home.object('s')?.leaf).toEqual(first);
    pass(1000);
    home.write(write({ ...issue, notAfter: instant(START + 2 * day) }, []), one, 'spec');
    expect(home.object('s')?.leaf).toMatchObject({ writtenAt: START + 2000, issuerSince: START });
  });

  it('still gives an old cache what was there then', () => {
    const { home, ca, bundle, pass } = setting();
    const [one, two] = [ca(1), ca(2)];
    home.write(bundle([one], undefined), undefined, undefined);
    pass(1000);
    home.write(bundle([two], home.object('trust')?.version), undefined, undefined);
    expect(home.contentAt('trust', START - 1)).toBeUndefined();
    expect(home.contentAt('trust', START + 999)?.anchors).toEqual([one]);
    expect(home.contentAt('trust', START + 1000)?.anchors).toEqual([two]);
  });
});
