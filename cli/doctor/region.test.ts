import { expect, test } from 'vitest';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { regionCheck } from './region.js';

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
