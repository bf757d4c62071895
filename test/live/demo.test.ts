import { execFile } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { repositoryRoot } from '../../devstack/paths.js';

// What the README promises first. Beside other tests it has a stack under a name and on ports of its own.
test('npm run demo tells its story to the end and prints the table', async () => {
  const { code, output } = await new Promise<{ code: number | string; output: string }>((resolve) => {
    execFile(
      'npm',
      ['run', '-s', 'demo', '--', '--name', 'demo-test'],
      { cwd: repositoryRoot(), maxBuffer: 16 << 20 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toContain('3 instances launched, 1 running.');
}, 900_000);
