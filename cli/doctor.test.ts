import { expect, test } from '@jest/globals';
import { readSettings } from '../process/settings.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import { doctor, doctorText } from './doctor.js';
import { type CheckResult, type EngineReader, runChecks } from './doctor/check.js';
import { installationChecks } from './doctor/installation.js';

const away = (): Promise<never> => Promise.reject(new Error('away'));
const engine: EngineReader = {
  serverVersion: away,
  namespace: away,
  searchAttributes: away,
  queues: away,
  recordedUid: away,
};

test('doctor: where nothing answers each dependency is reported once, and checks that need it are skipped', async () => {
  const kube = createFakeKube();
  kube.fail(new Error('away'));
  const settings = readSettings({ CLUSTER_NAME: 'c' });
  const accountOf = (): never => {
    throw new Error('AWS_REGION is missing');
  };
  const clock = createManualClock();
  const results = await runChecks(installationChecks({ settings, kube, engine, accountOf, clock }), clock);

  expect(results.filter(({ state }) => state === 'failed').map(({ name, found }) => `${name}: ${found}`)).toEqual([
    'kubernetes: away',
    'temporal: away',
    'cloud: AWS_REGION is missing',
  ]);
  expect(results.filter(({ state }) => state !== 'failed').every(({ state }) => state === 'skipped')).toBe(true);
  expect(new Set(results.map(({ name }) => name)).size).toBe(results.length);
  expect(results.every(({ state, mend }) => (state === 'failed') === (mend !== ''))).toBe(true);
});

test('doctor: settings turn off the checks that do not apply', () => {
  const names = (environment: Record<string, string>): string[] => {
    const settings = readSettings({ CLUSTER_NAME: 'c', ...environment });
    const clock = createManualClock();
    const checks = installationChecks({ settings, kube: createFakeKube(), engine, accountOf: () => undefined, clock });
    return checks.map(({ name }) => name);
  };
  const all = names({});
  const without = (environment: Record<string, string>): string[] =>
    all.filter((name) => !names(environment).includes(name));

  expect(without({ DISABLE_DRY_RUN: 'true' })).toEqual(['cloud-launch']);
  expect(without({ DISABLE_LEADER_ELECTION: 'true' })).toEqual(['operator']);
});

test('doctor: the text has each finding, its remedy, and the number of results by state', () => {
  const results: CheckResult[] = [
    { name: 'kubernetes', state: 'ok', found: 'version v1.36.1', mend: '' },
    { name: 'permissions', state: 'failed', found: 'may not patch nodes', mend: 'apply deploy/rbac.yaml' },
  ];
  expect(doctorText(results)).toBe(
    [
      'ok       kubernetes: version v1.36.1',
      'failed   permissions: may not patch nodes',
      '         fix: apply deploy/rbac.yaml',
      '',
      '2 checks: 1 failed, 1 ok.',
      '',
    ].join('\n'),
  );
});

const args = ['--cluster-name', 'c', '--temporal-address', '127.0.0.1:1', '--cloud-provider', 'kwok'];

test('doctor: a failed check gives exit status 1, and -o json prints data', async () => {
  const { text, status } = await doctor([...args, '--kubeconfig', '/nowhere', '-o', 'json']);
  const { checks } = JSON.parse(text) as { checks: CheckResult[] };

  expect(status).toBe(1);
  expect(checks.find(({ name }) => name === 'kubernetes')).toMatchObject({
    state: 'failed',
    found: expect.stringContaining('/nowhere'),
  });
  expect(checks.find(({ name }) => name === 'cloud')?.found).toContain('INSTANCE_TYPES_FILE_PATH');
});

test('doctor: invalid settings are a usage error', async () => {
  await expect(doctor(['--temporal-address', 'x'])).rejects.toThrow('CLUSTER_NAME (--cluster-name) is missing');
});
