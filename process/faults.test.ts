import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { build } from 'esbuild';
import { expect, test } from '@jest/globals';
import { faultReporter } from './faults.js';

test('an error of the process is logged once for each message, and counted each time', () => {
  const said: object[] = [];
  const counted: object[] = [];
  const log = { error: (facts: object) => said.push(facts) };
  const report = faultReporter(log as never, { count: (_name, labels) => void counted.push(labels) });

  for (const message of ['a', 'a', 'b']) report('change', new Error(message), { kind: 'Pod' });

  expect(said).toMatchObject([
    { kind: 'Pod', source: 'change', error: expect.stringContaining('Error: a') },
    { error: expect.stringContaining('Error: b') },
  ]);
  expect(counted).toEqual(Array(3).fill({ source: 'change' }));
});

test('a process survives errors of timers, listeners and unhandled rejections, and logs each', async () => {
  const program = `
    import { EventEmitter } from 'node:events';
    import { containFaults } from './process/faults.js';
    containFaults(process, (source, error) => console.log(source, error.message));
    let times = 0;
    const timer = setInterval(() => { if (++times === 2) clearInterval(timer); throw new Error('interval'); }, 1);
    const emitter = new EventEmitter();
    emitter.on('x', () => { throw new Error('listener'); });
    setTimeout(() => emitter.emit('x'), 1);
    new AbortController().signal.addEventListener('abort', () => undefined);
    void Promise.reject(new Error('promise'));
    process.on('exit', () => console.log('ended by itself'));
  `;
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  const child = spawn(process.execPath, ['--input-type=module', '-e', outputFiles[0]!.text]);
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);

  expect(said.trim().split('\n').sort()).toEqual([
    'callback interval',
    'callback interval',
    'callback listener',
    'callback promise',
    'ended by itself',
  ]);
  expect(status).toBe(0);
});
