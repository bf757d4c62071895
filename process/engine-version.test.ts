import { describe, expect, test } from 'vitest';
import type { Client } from '@temporalio/client';
import { newEnoughEngine, tooOld } from './engine-version.js';

/** A server whose answers follow one another, the last for ever. */
function serverOf(...versions: readonly (string | Error)[]): Pick<Client, 'workflowService'> {
  const left = [...versions];
  const getSystemInfo = (): Promise<unknown> => {
    const version = left.length > 1 ? left.shift() : left[0];
    return version instanceof Error ? Promise.reject(version) : Promise.resolve({ serverVersion: version });
  };
  return { workflowService: { getSystemInfo } } as unknown as Pick<Client, 'workflowService'>;
}

describe('the version of Temporal', () => {
  test.each([
    ['1.24.2', 'Temporal is version 1.24.2: 1.25.0 or newer is needed'],
    ['1.9.0', 'Temporal is version 1.9.0: 1.25.0 or newer is needed'],
    ['1.25.0', undefined],
    ['1.29.1', undefined],
    ['2.0.0', undefined],
    ['', undefined],
  ])('%s: %s', (version, problem) => {
    expect(tooOld(version)).toBe(problem);
  });

  test('too old a server is told once and waited for until it is upgraded, also while it does not answer', async () => {
    const problems: (string | undefined)[] = [];
    const said: unknown[] = [];
    const log = { error: (facts: object) => void said.push(facts), info: () => undefined };
    const server = serverOf('1.24.2', '1.24.2', new Error('away'), '1.25.0');

    await newEnoughEngine(
      server,
      { log, onProblem: (problem) => void problems.push(problem), everyMs: 1 },
      new AbortController().signal,
    );

    const old = 'Temporal is version 1.24.2: 1.25.0 or newer is needed';
    const away = 'Temporal does not say which version it is: away';
    expect(problems).toEqual([old, old, away, undefined]);
    expect(said).toEqual([{ problem: old }, { problem: away }]);
  });

  test('a process that ends waits no longer', async () => {
    const ending = new AbortController();
    const wait = { log: { error: () => ending.abort(), info: () => undefined }, onProblem: () => undefined };
    await expect(newEnoughEngine(serverOf('1.20.0'), wait, ending.signal)).rejects.toThrow();
  });
});
