import { managedClaims, nodeOf } from '../../../cluster/cluster.js';
import { createActivityWorld, nodeClaim, type ActivityWorld } from '../../builders/activity-world.js';
import { isReschedulable } from '../../../core/pods.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { foreign, joins } from './claims.js';

const providerID = 'fake:///a/i-1';

/** What is found in a cluster of one claim, one Node and some pods. */
const finds = (expected: unknown, node: string | undefined, result: (world: ActivityWorld) => unknown): Check => ({
  expected,
  outcome: async () => {
    const world = await createActivityWorld();
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID } }));
    world.kube.put('NodeClaim', nodeClaim('c2', { spec: foreign }));
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: node === undefined ? {} : { providerID: node } });
    for (const [name, kind, nodeName] of [
      ['web', 'ReplicaSet', 'n1'],
      ['agent', 'DaemonSet', 'n1'],
      ['other', 'ReplicaSet', 'n2'],
    ] as const) {
      const ownerReferences = [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true }];
      world.kube.put('Pod', {
        metadata: { name, namespace: 'default', ownerReferences },
        spec: { nodeName, containers: [] },
        status: { phase: 'Running' },
      });
    }
    await world.synced();
    const answer = result(world);
    world.stop();
    return answer;
  },
});
const claimOf = ({ deps }: ActivityWorld): string | undefined =>
  deps.cache.nodeClaimByProviderId(deps.cache.get('Node', { name: 'n1' })?.spec?.providerID ?? '')?.metadata.name;
const podsOn =
  (name: string) =>
  ({ deps }: ActivityWorld): unknown =>
    deps.cache
      .podsOnNode(name)
      .filter((pod) => isReschedulable(pod))
      .map(({ metadata }) => metadata.name);

/** pkg/utils/node/suite_test.go */
export const nodeUtilCases: readonly ConformanceCase[] = about('claim of a Node', [
  same(66, 'is found by its Node', finds('c1', providerID, claimOf)),
  same(77, 'is none for a Node of another instance', finds(undefined, 'fake:///a/i-2', claimOf)),
  same(87, 'is none for a Node without an instance', finds(undefined, undefined, claimOf)),
  same(98, 'pods without a Node', finds([], providerID, podsOn(''))),
  same(103, 'a Node without pods', finds([], providerID, podsOn('n3'))),
  same(110, 'its pods that need another place', finds(['web'], providerID, podsOn('n1'))),
]);

/** pkg/utils/nodeclaim/suite_test.go */
export const claimUtilCases: readonly ConformanceCase[] = about('Node of a claim', [
  same(
    118,
    'is owned by the claim',
    joins(['uid-c1'], (node) => node.metadata.ownerReferences?.map(({ uid }) => uid)),
  ),
  same(
    140,
    'is found by its claim',
    finds(
      'n1',
      providerID,
      ({ deps }) => nodeOf(deps.cache, deps.cache.get('NodeClaim', { name: 'c1' })!)?.metadata.name,
    ),
  ),
  same(
    158,
    'claims of a NodePool',
    finds(['c1'], providerID, ({ deps }) =>
      managedClaims(deps)
        .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'default')
        .map(({ metadata }) => metadata.name),
    ),
  ),
  same(
    181,
    'claims of this provider',
    finds(['c1'], providerID, ({ deps }) => managedClaims(deps).map(({ metadata }) => metadata.name)),
  ),
]);
