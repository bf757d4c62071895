import { expect, test } from 'vitest';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { clusterNameCheck } from './cluster-name.js';

const kube = createFakeKube();
kube.put('Namespace', { metadata: { name: 'kube-system', uid: 'own' } });

const verdict = (recorded: string | undefined) =>
  clusterNameCheck(kube, { recordedUid: () => Promise.resolve(recorded) }, 'prod').run();

test('doctor check cluster-name: ok for this cluster, failed for another, a warning where none is recorded', async () => {
  expect(await verdict('own')).toEqual({ state: 'ok', found: 'prod is this cluster', mend: '' });
  expect(await verdict('other')).toMatchObject({
    state: 'failed',
    found: expect.stringContaining('its kube-system has UID other, that of this cluster own'),
    mend: expect.stringContaining('CLUSTER_TAKES_OVER_FROM=other'),
  });
  expect(await verdict(undefined)).toMatchObject({ state: 'warning' });
});

test('doctor check cluster-name passes unreadable records on as errors', async () => {
  const away = { recordedUid: () => Promise.reject(new Error('away')) };
  await expect(clusterNameCheck(kube, away, 'prod').run()).rejects.toThrow('away');
  const engine = { recordedUid: () => Promise.resolve('own') };
  await expect(clusterNameCheck(createFakeKube(), engine, 'prod').run()).rejects.toThrow('kube-system');
});
