// Started by stopLaunchedWithThisProcess (processes.ts): waits for the end of its parent, which closes this input, and stops what that has launched.
import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { stopProcess, type ProcessRecord } from './processes.js';

const [, , records = ''] = process.argv;
process.stdin.resume().once('close', () => {
  const launched = readFileSync(records, 'utf8').trimEnd().split('\n').filter(Boolean);
  void Promise.all(launched.map((line) => stopProcess(JSON.parse(line) as ProcessRecord, 5000))).then(() =>
    rmSync(dirname(records), { recursive: true, force: true }),
  );
});
