import { describe, expect, test } from '@jest/globals';
import { clockCheck, clusterNameCheck, regionCheck } from './installation.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';

const second = 1000;

/** The verdict on a clock that showed `asked` and `answered` while the server answered `other`, in seconds. */
function verdict(asked: number, other: number | undefined, answered: number) {
  const looks = [asked * second, answered * second];
  const time = () => Promise.resolve(other === undefined ? undefined : other * second);
  return clockCheck({ of: 'cloud', needs: 'cloud-credentials', time }, { now: () => looks.shift() ?? 0 }).run();
}

test.each<[string, [number, number, number], string, string]>([
  ['the same', [100, 100, 100], 'ok', 'agrees with that of cloud'],
  ['within the time of a slow answer', [100, 120, 130], 'ok', 'agrees with that of cloud'],
  ['at the end of its second', [101, 100, 101], 'ok', 'agrees with that of cloud'],
  ['a little ahead', [111, 100, 111], 'warning', 'this clock is 10 seconds ahead of that of cloud'],
  ['a little behind', [90, 100, 90], 'warning', 'this clock is 10 seconds behind that of cloud'],
  ['far ahead', [461, 100, 461], 'failed', 'this clock is 360 seconds ahead of that of cloud'],
  ['far behind', [0, 360, 0], 'failed', 'this clock is 360 seconds behind that of cloud'],
])('doctor check clock: %s', async (_name, [asked, other, answered], state, found) => {
  expect(await verdict(asked, other, answered)).toMatchObject({ state, found });
});

test('doctor check clock is skipped where the answer has no time', async () => {
  expect(await verdict(100, undefined, 100)).toMatchObject({ state: 'skipped' });
});

describe('cluster name', () => {
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
});

const check = async (region: string | undefined, ...regions: readonly (string | undefined)[]) => {
  const kube = createFakeKube();
  regions.forEach((each, i) => {
    const labels: Record<string, string> = each === undefined ? {} : { 'topology.kubernetes.io/region': each };
    kube.put('Node', { metadata: { name: `n${i}`, labels } });
  });
  return regionCheck(kube, region).run();
};

test('doctor check region: ok where a node is in the region, failed where none is', async () => {
  expect(await check('us-west-2', 'us-west-2', undefined)).toMatchObject({
    state: 'ok',
    found: 'us-west-2, where 1 node of the cluster is',
  });
  expect(await check('us-west-2', 'us-west-2', 'us-west-2', 'eu-west-1')).toMatchObject({
    state: 'ok',
    found: 'us-west-2, where 2 nodes of the cluster are',
  });
  expect(await check('eu-west-1', 'us-west-2', 'us-west-2')).toMatchObject({
    state: 'failed',
    found: 'instances are launched in eu-west-1, and the nodes of the cluster are in us-west-2',
    mend: 'set AWS_REGION (cloud.region of the chart)',
  });
});

test('doctor check region is skipped without a region, or where no node has one', async () => {
  expect(await check(undefined, 'us-west-2')).toMatchObject({ state: 'skipped' });
  expect(await check('us-west-2', undefined)).toMatchObject({ state: 'skipped' });
  expect(await check('us-west-2')).toMatchObject({ state: 'skipped' });
});
