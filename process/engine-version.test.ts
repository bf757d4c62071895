import { describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { usableEngine, tooOld } from './engine-version.js';

type Server = Pick<Client, 'connection' | 'workflowService'>;

/** A server whose answers follow one another, the last for ever. */
function serverOf(...versions: readonly (string | Error)[]): Server {
  const left = [...versions];
  const getSystemInfo = (): Promise<unknown> => {
    const version = left.length > 1 ? left.shift() : left[0];
    return version instanceof Error ? Promise.reject(version) : Promise.resolve({ serverVersion: version });
  };
  return serverWith({ getSystemInfo, describeNamespace: () => Promise.resolve({}) });
}

function serverWith(workflowService: object): Server {
  const connection = { withDeadline: (_: number, call: () => unknown) => call() };
  return { connection, workflowService } as unknown as Server;
}

describe('the required version of Temporal', () => {
  test.each([
    ['1.24.2', 'Temporal is version 1.24.2: 1.25.0 or newer is needed'],
    ['1.9.0', 'Temporal is version 1.9.0: 1.25.0 or newer is needed'],
    ['1.25.0', undefined],
    ['1.29.1', undefined],
    ['2.0.0', undefined],
    ['', undefined],
  ])('"%s" has the problem: %s', (version, problem) => {
    expect(tooOld(version)).toBe(problem);
  });

  test('an old server is logged once and waited for until it is upgraded, also while it does not answer', async () => {
    const problems: (string | undefined)[] = [];
    const said: unknown[] = [];
    const log = { error: (facts: object) => void said.push(facts), info: () => undefined };
    const server = serverOf('1.24.2', '1.24.2', new Error('away'), '1.25.0');

    await usableEngine(
      server,
      { namespace: 'prod', log, onProblem: (problem) => void problems.push(problem), everyMs: 1 },
      new AbortController().signal,
    );

    const old = 'Temporal is version 1.24.2: 1.25.0 or newer is needed';
    const away = 'Temporal does not say which version it is: away';
    expect(problems).toEqual([old, old, away, undefined]);
    expect(said).toEqual([{ problem: old }, { problem: away }]);
  });

  test('an unknown namespace is named and waited for; an account without the right to ask goes on', async () => {
    const grpc = (code: number, details: string): Error =>
      Object.assign(new Error(details), { code, details, metadata: {} });
    const answers = [grpc(5, 'Namespace prod is not found.'), grpc(7, 'Request unauthorized.')];
    const server = serverWith({
      getSystemInfo: () => Promise.resolve({ serverVersion: '1.29.1' }),
      describeNamespace: () => Promise.reject(answers.shift()!),
    });
    const problems: (string | undefined)[] = [];
    const log = { error: () => undefined, info: () => undefined };

    await usableEngine(
      server,
      { namespace: 'prod', log, onProblem: (problem) => void problems.push(problem), everyMs: 1 },
      new AbortController().signal,
    );

    const missing =
      'Temporal has no namespace prod: create it (temporal operator namespace create -n prod) or set TEMPORAL_NAMESPACE to another';
    expect(problems).toEqual([missing, undefined]);
  });

  test('a process that ends stops waiting for the version', async () => {
    const ending = new AbortController();
    const log = { error: () => ending.abort(), info: () => undefined };
    const wait = { namespace: 'prod', log, onProblem: () => undefined };
    await expect(usableEngine(serverOf('1.20.0'), wait, ending.signal)).rejects.toThrow();
  });
});
