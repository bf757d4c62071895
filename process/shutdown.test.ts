import { expect, test } from 'vitest';
import { Shutdown } from './shutdown.js';

const longMs = 600_000;

test('a process that is told to end finishes first what it has to, whether that succeeds or not', async () => {
  const shutdown = new Shutdown();
  let finish: () => void = () => undefined;
  shutdown.finish(() => new Promise((resolve) => (finish = resolve)), longMs);
  shutdown.finish(() => Promise.reject(new Error('Temporal is away')), longMs);

  shutdown.request();
  await new Promise(setImmediate);
  expect([shutdown.stopping.aborted, shutdown.ending.aborted]).toEqual([true, false]);

  finish();
  await new Promise(setImmediate);
  expect(shutdown.ending.aborted).toBe(true);
});

test('told twice, it ends at once', () => {
  const shutdown = new Shutdown();
  shutdown.finish(() => new Promise(() => undefined), longMs);

  shutdown.request();
  shutdown.request();

  expect(shutdown.ending.aborted).toBe(true);
});

test('what never ends is not waited for longer than it may take', async () => {
  const shutdown = new Shutdown();
  shutdown.finish(() => new Promise(() => undefined), 1);

  shutdown.request();

  await new Promise((resolve) => shutdown.ending.addEventListener('abort', resolve));
  expect(shutdown.stopping.aborted).toBe(true);
});
