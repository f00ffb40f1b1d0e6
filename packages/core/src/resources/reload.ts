import { z } from 'zod';
import { argv, exactlyOne, fields, filePath, httpUrl, text } from './fields.ts';

const SIGNALS = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGTERM', 'SIGWINCH'] as const;
const ACTIONS = ['reload', 'restart', 'try-reload-or-restart'] as const;

/** The characters that systemd allows in a unit's name; no leading hyphen, which systemctl would read as an option. */
const unitName = () =>
  text(
    /^[A-Za-z0-9_:.@\\][-A-Za-z0-9_:.@\\]{0,254}$/,
    255,
    'the name of a systemd unit',
    'write it like nginx.service',
  );

const ways = {
  command: argv()
    .optional()
    .describe('Program and arguments, run without a shell in the directory of the resources.'),
  signal: fields({
    pidFile: filePath().describe(
      'File that holds the PID. A relative path starts in the directory of the resources.',
    ),
    signal: z.enum(SIGNALS).default('SIGHUP').describe('Signal to send.'),
  })
    .optional()
    .describe('Send a signal to the PID in a file.'),
  http: fields({ url: httpUrl().describe('URL to POST to.') })
    .optional()
    .describe('Send an HTTP POST.'),
  systemd: fields({
    unit: unitName().describe('Name of the unit.'),
    action: z
      .enum(ACTIONS)
      .default('reload')
      .describe('What systemctl does with the unit. With restart, the unit restarts once per rotation.'),
  })
    .optional()
    .describe('Reload or restart a systemd unit.'),
  restart: fields({
    command: argv().describe(
      'Program and arguments that restart the program, run without a shell in the directory of the resources.',
    ),
  })
    .optional()
    .describe(
      'For a program that reads its files only when it starts: a command that restarts it, once per rotation and after each renewal.',
    ),
};

const WAYS = Object.keys(ways);

const DIRECTORY_ONLY = 'Directory home only: in a cluster it has no effect, and status says so.';

/** How programs learn that the files of a bundle changed. */
export const bundleReload = () =>
  exactlyOne(fields(ways), WAYS).describe(`How to tell programs that the bundle changed. ${DIRECTORY_ONLY}`);

const RESTART_TAKES_NO_ON =
  'does not apply to a restart, which comes once per rotation and after each renewal; leave it out';

/** How the program of a leaf learns that its files changed. */
export const leafReload = () =>
  exactlyOne(
    fields({
      ...ways,
      on: z
        .array(z.enum(['leaf', 'trust']))
        .min(1)
        .max(2)
        .optional()
        .describe(
          'Which changes the program is told of: leaf, a new tls.crt and tls.key; trust, a new ca.crt. Default: both.',
        ),
    }),
    WAYS,
  )
    .superRefine(({ on, restart, systemd }, context) => {
      if (on === undefined || (restart === undefined && systemd?.action !== 'restart')) return;
      context.addIssue({ code: 'custom', path: ['on'], message: RESTART_TAKES_NO_ON });
    })
    .describe(`How to tell the program that its files changed. ${DIRECTORY_ONLY}`);
