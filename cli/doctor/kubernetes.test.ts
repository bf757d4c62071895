import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubernetesCheck, oldestKubernetes } from './kubernetes.js';
import { isOlder, versionIn } from '../../core/versions.js';

const verdict = (version: string) => kubernetesCheck({ serverVersion: () => Promise.resolve(version) }).run();

describe('doctor check kubernetes', () => {
  test.each([
    ['v1.36.1', 'ok'],
    ['v1.29.0-eks-036c24b', 'ok'],
    ['v1.28.15', 'failed'],
    ['unknown', 'warning'],
  ])('%s: %s', async (version, state) => {
    expect(await verdict(version)).toMatchObject({ state, found: expect.stringContaining(version) });
  });

  test('passes an error of the API server on', async () => {
    const check = kubernetesCheck({ serverVersion: () => Promise.reject(new Error('away')) });
    await expect(check.run()).rejects.toThrow('away');
    expect(check.unanswered).toContain('KUBECONFIG');
  });

  test('requires the kubeVersion of the chart', () => {
    const { kubeVersion } = parse(readFileSync('deploy/chart/Chart.yaml', 'utf8')) as { kubeVersion: string };
    expect(versionIn(kubeVersion)).toBe(oldestKubernetes);
  });
});

test.each([
  ['1.9', '1.10', true],
  ['1.10', '1.9.9', false],
  ['2.0', '1.25.0', false],
  ['1.25', '1.25.0', false],
])('doctor compares versions: %s is older than %s: %s', (version, than, expected) => {
  expect(isOlder(version, than)).toBe(expected);
});
