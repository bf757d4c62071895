import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { annotations } from '../../../api/labels.js';
import { collectInstances } from '../../../operator/garbage.js';
import { tagInstance, tagUntagged } from '../../../cluster/tagging.js';
import { createActivityWorld, nodeClaim, type ActivityWorld } from '../../builders/activity-world.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { account, type Account, type Given } from './account.js';
import { InstancesOfAccount, providerIdOf, usualTags, without, type Made } from './instances-of-account.js';

/** Activities on an API server in memory, and on the provider of an account that has instances. */
export interface Place extends ActivityWorld {
  readonly ec2: InstancesOfAccount;
  /** The clock of the provider. */
  readonly ec2Clock: Account['clock'];
}

/** Plays a case, whose answer has to be `expected`. */
export const inPlace = (play: (place: Place) => Promise<unknown>, expected: unknown, given: Given = {}): Check =>
  gives(async () => {
    const world = await createActivityWorld();
    const ec2 = new InstancesOfAccount();
    const { provider, clock } = account({ ...given, calls: { ...ec2.calls, ...given.calls } });
    world.clock.now = clock.time;
    try {
      return await play({ ...world, ec2, ec2Clock: clock, deps: { ...world.deps, cloud: provider } });
    } finally {
      world.stop();
    }
  }, expected);

interface There {
  readonly instance?: Made;
  readonly withNode?: boolean;
  readonly withClaim?: boolean;
}

/** Instances with what belongs to them, and which of instances and Nodes are left once garbage was collected. */
const collects = (at: number, title: string, there: There, expected: readonly string[], count = 1): ConformanceCase =>
  same(
    at,
    title,
    inPlace(
      async ({ ec2, kube, deps, ...place }) => {
        const ids = Array.from({ length: count }, (_, i) => `i-${i}`);
        for (const id of ids) {
          ec2.put(id, there.instance);
          const providerID = providerIdOf(id);
          if (there.withNode === true) kube.put('Node', { metadata: { name: `n-${id}` }, spec: { providerID } });
          if (there.withClaim === true) kube.put('NodeClaim', nodeClaim(`c-${id}`, { status: { providerID } }));
        }
        await place.synced();
        await collectInstances(deps);
        const nodes = new Set(kube.objects('Node').map(({ metadata }) => metadata.name));
        return ids.map((id) => [
          ...(ec2.state(id) === 'running' ? ['instance'] : []),
          ...(nodes.has(`n-${id}`) ? ['Node'] : []),
        ]);
      },
      Array.from({ length: count }, () => expected),
    ),
  );
const owned = { withNode: true, withClaim: true };

/** pkg/controllers/nodeclaim/garbagecollection/suite_test.go */
export const instanceGarbageCases: readonly ConformanceCase[] = about('garbage collection of instances', [
  collects(139, 'an instance that no claim has is terminated', {}, []),
  collects(150, 'its Node is removed with it', { withNode: true }, []),
  collects(168, 'a hundred instances are terminated', {}, [], 100),
  collects(223, 'a hundred instances of claims stay', { withClaim: true }, ['instance'], 100),
  collects(
    283,
    'an instance that was just launched stays',
    { instance: { LaunchTime: new Date('2026-06-01T00:00:00Z') } },
    ['instance'],
  ),
  collects(
    292,
    'an instance that was not launched for a NodePool stays',
    { instance: { tags: without('karpenter.sh/nodepool') } },
    ['instance'],
  ),
  collects(306, 'an instance of a claim and its Node stay', owned, ['instance', 'Node']),
  collects(333, 'a hundred instances of claims and their Nodes stay', owned, ['instance', 'Node'], 100),
]);

const id = 'i-0';
const up = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
interface Tagging {
  readonly tags?: Readonly<Record<string, string>>;
  readonly claim?: Partial<NodeClaim['metadata']>;
  readonly providerID?: string;
  readonly withoutNode?: boolean;
  readonly withoutInstance?: boolean;
}

/** A claim whose node is up, as garbage collection finds it, and what there is of tags and marks afterwards. */
const tagged = (of: Tagging, after: (place: Place) => unknown, expected: unknown): Check =>
  inPlace(async (place) => {
    const { ec2, kube, deps } = place;
    if (of.withoutInstance !== true) ec2.put(id, { tags: of.tags ?? usualTags });
    const providerID = of.providerID ?? providerIdOf(id);
    const made = nodeClaim('c', { status: { providerID, conditions: up } });
    kube.put('NodeClaim', { ...made, metadata: { ...made.metadata, ...of.claim } });
    if (of.withoutNode !== true) kube.put('Node', { metadata: { name: 'n' }, spec: { providerID } });
    await place.synced();
    const result = await tagUntagged(deps);
    return [result.tagged, after(place)];
  }, expected);
const marks = ({ kube, ec2 }: Place): unknown => [
  kube.objects('NodeClaim')[0]?.metadata.annotations?.[annotations.tagged],
  ec2.tags(id)['Name'],
];
const untagged = (at: number, title: string, of: Tagging): ConformanceCase =>
  same(at, title, tagged(of, marks, [0, [undefined, undefined]]));

const keys = ['Name', 'karpenter.sh/nodeclaim', 'eks:eks-cluster-name'] as const;
/** Those of the three tags that the instance has already, by whomever they were written, and those that it has in the end. */
const completes = (at: number, ...there: readonly (typeof keys)[number][]): ConformanceCase =>
  same(
    at,
    there.length === keys.length ? 'nothing lacks' : `what lacks is added to ${there.join(' and ')}`,
    tagged(
      {
        tags: { ...without('eks:eks-cluster-name'), ...Object.fromEntries(there.map((key) => [key, 'own'])) },
      },
      ({ ec2, kube }) => [
        keys.map((key) => ec2.tags(id)[key]),
        kube.objects('NodeClaim')[0]?.metadata.annotations?.[annotations.tagged],
        ec2.asked['createTags'] ?? 0,
      ],
      [
        1,
        [
          ['n', 'c', 'test-cluster'].map((value, i) => (there.includes(keys[i]!) ? 'own' : value)),
          'true',
          there.length === keys.length ? 0 : 1,
        ],
      ],
    ),
  );
const deleting = { deletionTimestamp: '2026-06-01T00:00:00Z', finalizers: ['example.com/held'] };
const [nameTag, claimTag, clusterNameTag] = keys;

/** pkg/controllers/nodeclaim/tagging/suite_test.go */
export const taggingCases: readonly ConformanceCase[] = about('tags of an instance after its node registered', [
  untagged(115, 'are not written without a Node', { withoutNode: true }),
  untagged(130, 'are not written for an invalid provider ID', { providerID: 'Bad providerID' }),
  same(
    146,
    'are not written once the claim is gone',
    inPlace(
      async ({ ec2, deps }) => {
        ec2.put(id);
        const claim = { name: 'c', uid: 'uid-c' };
        const { state } = await tagInstance(deps, { claim, providerId: providerIdOf(id), nodeName: 'n' });
        return [state, ec2.asked['createTags']];
      },
      ['gone', undefined],
    ),
  ),
  untagged(159, 'are not written once the instance is gone', { withoutInstance: true }),
  untagged(173, 'are not written while the claim is being deleted', { claim: deleting }),
  completes(231, nameTag, clusterNameTag),
  completes(232, nameTag, claimTag),
  completes(233, claimTag, clusterNameTag),
  completes(234, nameTag),
  completes(235, claimTag),
  completes(236, clusterNameTag),
  completes(237, claimTag, clusterNameTag, nameTag),
]);
