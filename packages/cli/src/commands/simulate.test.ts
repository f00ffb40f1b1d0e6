import { expect, test } from 'vitest';
import { ERROR_LINE, handover } from '../../test/capture.ts';

const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await handover(['simulate', '--json', ...args]);
  expect(stderr).toBe('');
  return { code, report: JSON.parse(stdout) };
};

test.each(['phased', 'instant'])('simulate with strategy %s fails no handshake, exit 0', async (strategy) => {
  const { code, report } = await json('--strategy', strategy, '--seeds', '5');
  expect(code).toBe(0);
  expect(report).toMatchObject({ strategy, seeds: 5, failures: 0, firstFailure: null });
  expect(report.rotations).toBeGreaterThan(0);
  expect(report.handshakes).toBeGreaterThan(0);
  expect(Object.keys(report)).toEqual([
    'strategy',
    'seeds',
    'rotations',
    'handshakes',
    'failures',
    'seconds',
    'firstFailure',
  ]);
});

test.each(['replace', 'carry-over'])(
  'simulate with strategy %s fails a handshake, names the pair, exit 1',
  async (strategy) => {
    const { code, report } = await json('--strategy', strategy, '--seeds', '3');
    expect(code).toBe(1);
    expect(report.failures).toBeGreaterThan(0);
    expect(report.firstFailure).toMatchObject({ seed: 1, kind: 'handshake' });
    const again = await json('--strategy', strategy, '--from', '2', '--seeds', '1');
    expect(again.report.firstFailure.seed).toBe(2);
  },
);

test.each(['phased', 'replace'])(
  'simulate in shares of the seeds gives the same report as in one run, with strategy %s',
  async (strategy) => {
    const args = ['--strategy', strategy, '--seeds', '6'];
    const whole = await json(...args);
    const inShares = await handover(['simulate', '--json', ...args], { terminal: true });
    expect(inShares.stderr).toContain('2 of 6 worlds');
    expect(inShares.stderr).toContain('4 of 6 worlds');
    expect({ ...JSON.parse(inShares.stdout), seconds: 0 }).toEqual({ ...whole.report, seconds: 0 });
  },
);

test('simulate --consumers makes a fleet of that size', async () => {
  const few = await json('--consumers', '3', '--delays', '0,5.5', '--seeds', '1');
  const many = await json('--consumers', '30', '--delays', '0,5.5', '--seeds', '1');
  expect(few.code).toBe(0);
  expect(many.report.handshakes).toBeGreaterThan(few.report.handshakes);
});

test('simulate with a strategy of Handover ends with 0 failures', async () => {
  const { code, stdout } = await handover(['simulate', '--seeds', '2']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^strategy +phased$/m);
  expect(stdout).toMatch(/^0 failures: /m);
});

test('simulate explains the first pair that fails, with the command that shows it again', async () => {
  const { code, stdout } = await handover([
    'simulate',
    '--strategy',
    'replace',
    '--delays',
    '0,30',
    '--seeds',
    '2',
  ]);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /presents \[leaf of CA generation 2\], .* trusts only CA generation 1: the leaf's issuer, .*, is not in the bundle\.$/m,
  );
  expect(stdout).toContain('handover simulate --strategy replace --delays 0,30 --from 1 --seeds 1');
});

test('simulate shows progress in one changing line on a terminal and in plain lines elsewhere', async () => {
  const args = ['simulate', '--strategy', 'carry-over', '--seeds', '8'];
  const terminal = await handover(args, { terminal: true });
  expect(terminal.stderr).toContain('\r\u001b[K1 of 8 worlds');
  expect(terminal.stderr.endsWith('\r\u001b[K')).toBe(true);
  const piped = await handover(args);
  expect(piped.stderr).toMatch(/^0 of 8 worlds\n2 of 8 worlds, \d+ failures?\n4 of 8 .*\n6 of 8 .*\n$/);
});

test.each([
  ['--strategy', 'bogus', /bogus.*phased, instant, replace, carry-over/],
  ['--seeds', '0', /--seeds: "0" is not valid; give a number from 1 to 1000000/],
  ['--seeds', '1e3', /--seeds/],
  ['--seeds', '-4', /--seeds/],
  ['--seeds', '', /--seeds/],
  ['--consumers', '1.5', /--consumers/],
  ['--consumers', '99999', /--consumers: .* from 1 to 10000/],
  ['--delays', '0,,3', /--delays/],
  ['--delays', 'soon', /--delays/],
  ['--from', 'x', /--from/],
])('simulate %s %j is a usage error: one line, exit 2', async (flag, value, says) => {
  const { code, stdout, stderr } = await handover(['simulate', flag, value]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(ERROR_LINE);
  expect(stderr).toMatch(/^USAGE: /);
  expect(stderr).toMatch(says);
});
