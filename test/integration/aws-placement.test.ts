import { beforeEach, expect, test } from '@jest/globals';
import { conditionOf } from '../../core/conditions.js';
import { pinnedValue } from '../../core/launch-options.js';
import type { EC2NodeClassStatus } from '../../api/aws/ec2-node-class.js';
import { awsProvider, claim, need, nodeClass, pool, requestFor, resolved, useCloud } from './aws-subject.js';

const { stack, cloud } = useCloud();
const type = need('node.kubernetes.io/instance-type', 'm5.large');
const group = { id: 'pg-0123456789abcdef0', name: 'spread-out', strategy: 'partition' as const, partitionCount: 3 };
const selector = { placementGroupSelector: { name: group.name } };
const partitionLabel = 'karpenter.k8s.aws/placement-group-partition';

beforeEach(() => cloud().reset());

// Rules `instance-types/partitions`, `labels/instance-labels`.
test('partition placement group: one offering per partition, one partition per launch, and a refusal counts for it alone', async () => {
  await cloud().configure({ placementGroups: [group] });
  const { provider } = awsProvider(stack());
  const ready = await resolved(provider, nodeClass(stack(), selector, 'partitioned'));
  const offerings = async () =>
    (await provider.instanceTypes(pool, ready)).find(({ name }) => name === 'm5.large')!.offerings;
  const partitions = (await offerings()).map(({ requirements }) => pinnedValue(requirements, partitionLabel));
  expect([...new Set(partitions)].sort()).toEqual(['1', '2', '3']);

  await cloud().clearRequests();
  const result = await provider.launch(requestFor(claim([type, need(partitionLabel, '2')]), ready));
  if (!result.ok) throw new Error(result.error.message);
  expect(result.value.labels).toMatchObject({
    [partitionLabel]: '2',
    'karpenter.k8s.aws/placement-group-id': group.id,
    'karpenter.k8s.aws/instance-tenancy': 'default',
  });
  const [template] = await cloud().requests({ service: 'ec2', action: 'CreateLaunchTemplate' });
  expect(template?.params).toMatchObject({
    LaunchTemplateData: { Placement: { GroupId: group.id, PartitionNumber: '2' } },
  });
  const free = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const launched = await provider.launch(requestFor(claim([type]), ready));
      return launched.ok ? launched.value.labels[partitionLabel] : launched.error.message;
    }),
  );
  expect(new Set(free).size).toBeGreaterThan(1);
  expect(free.every((partition) => ['1', '2', '3'].includes(partition ?? ''))).toBe(true);

  await cloud().setPools([{ instanceType: 'm5.large', capacityType: 'spot' }]);
  const spot = need('karpenter.sh/capacity-type', 'spot');
  const refused = await provider.launch(requestFor(claim([type, spot, need(partitionLabel, '1')]), ready));
  if (refused.ok) throw new Error('launched');
  expect(refused.error.unavailable.map(({ placement }) => placement)).toEqual(
    expect.arrayContaining([`${group.id}/1`]),
  );
  const open = (await offerings())
    .filter(
      ({ available, requirements }) => available && pinnedValue(requirements, 'karpenter.sh/capacity-type') === 'spot',
    )
    .map(({ requirements }) => pinnedValue(requirements, partitionLabel));
  expect([...new Set(open)].sort()).toEqual(['2', '3']);
});

// Rule `node-classes/placement-groups`.
test('a placement group that does not exist is named by a condition', async () => {
  const { provider } = awsProvider(stack());
  const { status } = await provider.resolveNodeClass(nodeClass(stack(), selector, 'grouped'));
  expect(conditionOf((status as EC2NodeClassStatus).conditions, 'PlacementGroupReady')).toMatchObject({
    status: 'False',
    reason: 'PlacementGroupNotFound',
    message: expect.stringContaining(group.name),
  });
});
