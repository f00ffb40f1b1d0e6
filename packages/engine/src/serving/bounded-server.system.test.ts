// Node's own timeouts of a server, which are real time.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { NO_SUCH_PAGE, serveBounded } from './bounded-server.ts';

/** A connection that never finishes its request. */
const halfOpen = async (port: number, first: string): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(first);
  return socket;
};

test('an unfinished request and an idle connection are closed after a few seconds', async () => {
  const server = await serveBounded({
    host: '127.0.0.1',
    port: 0,
    flag: '--health-address',
    answer: () => NO_SUCH_PAGE,
  });
  onTestFinished(() => server.close());
  const late = [
    await halfOpen(server.port, 'GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '),
    await halfOpen(server.port, '\r\n'),
  ];
  // The first one keeps sending.
  const drip = setInterval(() => late[0]?.write('x'), 200);
  onTestFinished(() => clearInterval(drip));
  const closed = Promise.all(late.map((socket) => once(socket.resume(), 'close')));
  expect(await Promise.race([closed.then(() => 'closed'), pause(30_000, 'open')])).toBe('closed');
  await vi.waitFor(() => expect(server.connections).toBe(0), 30_000);
});
