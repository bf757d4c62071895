import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { isRunning, type ProcessRecord } from './processes.js';

test.each(['SIGKILL', 'SIGINT'] as const)('what a run of tests launched stops when %s ends the run', async (signal) => {
  const program = `
    import { launch, stopLaunchedWithThisProcess } from ${JSON.stringify(new URL('processes.js', import.meta.url).href)};
    stopLaunchedWithThisProcess();
    const record = launch('sleep', ['3600'], { log: '/dev/null', cwd: ${JSON.stringify(tmpdir())} });
    console.log(JSON.stringify(record));
    setInterval(() => undefined, 1000);`;
  const run = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: run.stdout }), 'line')) as [string];
  const launched = JSON.parse(line) as ProcessRecord;
  expect(isRunning(launched)).toBe(true);
  run.kill(signal);
  while (isRunning(launched)) await sleep(20);
});
