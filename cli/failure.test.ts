import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { NamespaceNotFoundError } from '@temporalio/common';
import { DomainError } from '../core/failures.js';
import { createKubeClient } from '../kube/client.js';
import { UsageError } from './exit.js';
import { failureOf } from './failure.js';

/** As the client of Temporal throws it. */
const refused = Object.assign(
  new Error('Failed to list workflows', {
    cause: Object.assign(new Error('3 INVALID_ARGUMENT: no such column'), { details: 'no such column' }),
  }),
  { name: 'ServiceError' },
);

test('errors of Temporal are printed with its message, without a stack trace', () => {
  expect(failureOf(refused).said).toBe('stowage: Failed to list workflows: no such column\n');
});

test('an unknown namespace is named, without a stack trace', () => {
  expect(failureOf(new NamespaceNotFoundError('prod')).said).toBe("stowage: Namespace not found: 'prod'\n");
});

test('an unreachable API server is printed without a stack trace', () => {
  const said = 'no answer from the Kubernetes API server at https://127.0.0.1:6443: connect ECONNREFUSED';
  expect(failureOf(new DomainError('Unavailable', said))).toEqual({ status: 1, said: `stowage: ${said}\n` });
});

test('a usage error is printed alone, an unexpected error with its stack trace', () => {
  expect(failureOf(new UsageError('no such file'))).toMatchObject({ said: 'stowage: no such file\n' });
  expect(failureOf(new Error('slip')).said).toContain('failure.test');
});

describe('expected failures print no stack trace', () => {
  const thrown = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const folder = mkdtempSync(join(tmpdir(), 'stowage-kubeconfig-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const saidOf = (text: string) => {
    const kubeconfig = join(folder, 'config');
    writeFileSync(kubeconfig, text);
    return failureOf(thrown(() => createKubeClient({ kubeconfig })));
  };

  test('a kubeconfig that is missing, invalid or without a current context is a usage error with its path', () => {
    const missing = failureOf(thrown(() => createKubeClient({ kubeconfig: '/nope' })));
    expect(missing).toEqual({ status: 2, said: 'stowage: /nope: no such file\n' });
    const context = 'contexts: [{name: b, context: {cluster: b, user: b}}]';
    for (const text of ['{', '17', `apiVersion: v1\nkind: Config\n${context}\nclusters: []\nusers: []\n`]) {
      const { status, said } = saidOf(text);
      expect({ status, stack: said.split('\n').filter((line) => /^\s+at /.test(line)) }).toEqual({
        status: 2,
        stack: [],
      });
      expect(said).toContain(folder);
    }
    expect(saidOf(`apiVersion: v1\nkind: Config\n${context}\nclusters: []\nusers: []\n`).said).toMatch(
      /current context .* its contexts: b/,
    );
  });

  const expected = [
    Object.assign(new Error('spawn aws ENOENT'), { code: 'ENOENT', syscall: 'spawn aws' }),
    Object.assign(new Error('The security token is invalid'), { $fault: 'client', $metadata: {} }),
    Object.assign(new Error('Could not load credentials'), { name: 'CredentialsProviderError', tryNextLink: false }),
    new DOMException('The operation timed out', 'TimeoutError'),
    new DomainError('Unavailable', 'Temporal cannot be reached at localhost:7233: no'),
  ];
  test.each(expected.map((error) => [error.message, error] as const))('%s: status 1', (_, error) => {
    expect(failureOf(error)).toEqual({ status: 1, said: `stowage: ${error.message}\n` });
  });
});
