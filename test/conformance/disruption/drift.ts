import { annotations, labels } from '../../../api/labels.js';
import { nodePoolHash, nodePoolHashVersion } from '../../../disruption/drift/template-hash.js';
import type { InstanceType } from '../../../core/instance-type.js';
import { consolidatableAt } from '../../../disruption/consolidation/consolidatable.js';
import { driftOf, mayDrift, migratedHashes, templateDrift } from '../../../disruption/drift/drift.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { noneOf, oneOf, op, zone1, zone2 } from '../world.js';

const now = Date.parse('2026-01-02T00:00:00Z');
const ago = (hours: number): string => new Date(now - hours * 3_600_000).toISOString();
const onDemand = oneOf(labels.capacityType, 'on-demand');
type Requirements = readonly object[];

const poolOf = (requirements: Requirements = [], metadata: object = {}, more: object = {}) => {
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  const made = nodePool('default', { template: { spec: { requirements, nodeClassRef } }, ...more });
  return { ...made, metadata: { ...made.metadata, ...metadata } };
};
const own = { [labels.instanceType]: 'm', [labels.zone]: zone1, [labels.capacityType]: 'on-demand' };
const claimOf = (more: Readonly<Record<string, string>> = {}, metadata: object = {}) => {
  const made = nodeClaim('c');
  return {
    ...made,
    metadata: { ...made.metadata, labels: { ...own, ...more }, creationTimestamp: ago(2), ...metadata },
  };
};
const stamp = (hash?: string, version?: string) => ({
  annotations: {
    ...(hash !== undefined && { [annotations.nodePoolHash]: hash }),
    ...(version !== undefined && { [annotations.nodePoolHashVersion]: version }),
  },
});
const offers = (...sold: readonly (readonly [zone: string, capacityType: string])[]): InstanceType => ({
  name: 'm',
  requirements: [],
  offerings: sold.map(([zone, capacityType]) => ({
    requirements: [oneOf(labels.zone, zone), oneOf(labels.capacityType, capacityType)],
    price: 1,
    available: true,
  })),
  capacity: {},
  overhead: {},
});

/** Why the claim has drifted, where the provider says that its node class has. */
const drifts = (
  reason: string | undefined,
  { claim = claimOf(), pool = poolOf(), types = [offers([zone1, 'on-demand'])], provider = '' },
): Check => ({
  outcome: () => driftReason(claim, pool, types, provider),
  expected: reason,
});
const driftReason = async (...[claim, pool, types, provider]: DriftArguments): Promise<string | undefined> =>
  driftOf(
    claim,
    {
      pool,
      catalogue: () => Promise.resolve(types),
      provider: () => Promise.resolve(provider === '' ? undefined : provider),
    },
    now,
  );
type DriftArguments = [ReturnType<typeof claimOf>, ReturnType<typeof poolOf>, readonly InstanceType[], string];

const conditionOf = (status?: 'True' | 'False' | 'Unknown') => ({
  ...claimOf(),
  status: { conditions: status === undefined ? [] : [{ type: 'Launched', status, lastTransitionTime: ago(1) }] },
});
const looked = (expected: boolean, status?: 'True' | 'False' | 'Unknown'): Check =>
  gives(() => mayDrift(conditionOf(status)), expected);
const required = (drifted: boolean, requirements: Requirements, more: Readonly<Record<string, string>> = {}): Check =>
  gives(
    () => templateDrift(claimOf({ [labels.os]: 'linux', ...more }), poolOf([onDemand, ...requirements])),
    drifted ? 'RequirementsDrifted' : undefined,
  );
const other = {
  requirements: [],
  nodeClassRef: { group: 'g', kind: 'K', name: 'default' },
  expireAfter: '5m',
} as const;
const hashed = (spec: object = {}, metadata: object = {}): string =>
  nodePoolHash({ spec: { ...other, requirements: [], ...spec }, metadata });
const rehashed = (spec: object, metadata: object = {}, expected = true): Check =>
  gives(() => hashed(spec, metadata) !== hashed(), expected);
const stamped = (claim: object, pool: object): Check =>
  gives(() => templateDrift(claimOf({}, claim), poolOf([], pool)), undefined);
const reserved = { [labels.capacityType]: 'reserved' };
const left = (drifted: boolean, ...types: readonly string[]): Check =>
  drifts(drifted ? 'InstanceTypeNotFound' : undefined, {
    claim: claimOf(reserved),
    types: [offers(...types.map((each) => [zone1, each] as const))],
  });
const unlabelled = claimOf();
Reflect.deleteProperty(unlabelled.metadata.labels, labels.instanceType);
const taint = [{ key: 'k', effect: 'NoExecute' }];

/** pkg/controllers/nodeclaim/disruption/drift_test.go */
export const claimDriftCases: readonly ConformanceCase[] = about('condition Drifted', [
  same(83, "by the provider's drift reason", drifts('AMIDrift', { provider: 'AMIDrift' })),
  same(
    86,
    'without the instance type label the type is not checked',
    drifts('InstanceTypeNotFound', { claim: unlabelled }),
  ),
  same(95, 'by a type that no longer exists', drifts('InstanceTypeNotFound', { types: [] })),
  same(104, 'by a type without offerings', drifts('InstanceTypeNotFound', { types: [offers()] })),
  same(
    116,
    'by a type offered only elsewhere',
    drifts('InstanceTypeNotFound', { types: [offers([zone2, 'on-demand'])] }),
  ),
  same(
    134,
    "the template's drift comes before the provider's",
    drifts('NodePoolDrifted', {
      claim: claimOf({}, stamp('1', 'v')),
      pool: poolOf([], stamp('2', 'v')),
      provider: 'AMIDrift',
    }),
  ),
  same(
    151,
    "drifted requirements come before the provider's",
    drifts('RequirementsDrifted', { pool: poolOf([oneOf(labels.zone, zone2)]), provider: 'AMIDrift' }),
  ),
  same(166, 'is removed while Launched is unknown', looked(false, 'Unknown')),
  same(178, 'is removed while the claim is not launched', looked(false, 'False')),
  notApplicable(198, 'the condition goes', 'operator/drift.test.ts has what is written'),
  same(228, 'by other values of a requirement', required(true, [oneOf(labels.capacityType, 'spot')])),
  same(244, 'by one more requirement', required(true, [oneOf(labels.arch, 'amd64')])),
  same(261, 'by fewer values of a requirement', required(true, [oneOf(labels.os, 'windows')])),
  same(277, 'not by more values of a requirement', required(false, [oneOf(labels.os, 'linux', 'windows')])),
  same(293, 'by Exists', required(false, [op(labels.os, 'Exists')])),
  same(309, 'by DoesNotExist', required(true, [op(labels.os, 'DoesNotExist')])),
  same(
    325,
    'by a number that is too small now',
    required(true, [op('example.com/n', 'Gt', '10')], { 'example.com/n': '5' }),
  ),
  same(
    341,
    'by a number that is too large now',
    required(true, [op('example.com/n', 'Lt', '1')], { 'example.com/n': '2' }),
  ),
  same(
    358,
    'of one of two claims',
    gives(
      () =>
        ['linux', 'windows'].map((os) =>
          templateDrift(claimOf({ [labels.os]: os }), poolOf([noneOf(labels.os, 'windows')])),
        ),
      [undefined, 'RequirementsDrifted'],
    ),
  ),
  same(474, 'by other annotations', rehashed({}, { annotations: { a: 'b' } })),
  same(475, 'by other labels', rehashed({}, { labels: { a: 'b' } })),
  same(476, 'by other taints', rehashed({ taints: taint })),
  same(477, 'by other startup taints', rehashed({ startupTaints: taint })),
  same(478, 'by another node class', rehashed({ nodeClassRef: { ...other.nodeClassRef, name: 'other' } })),
  same(479, 'by another expireAfter', rehashed({ expireAfter: '100m' })),
  same(480, 'by another terminationGracePeriod', rehashed({ terminationGracePeriod: '100m' })),
  same(482, 'not without a hash of the NodePool', stamped(stamp('1', 'v'), {})),
  same(489, 'not without a hash of the claim', stamped(stamp(undefined, 'v'), stamp('2', 'v'))),
  same(498, 'not between hashes of two versions', stamped(stamp('1', 'v'), stamp('2', 'w'))),
  same(512, 'not without a hash version of the claim', stamped(stamp('1'), stamp('2', 'v'))),
  same(566, 'of a reserved claim where reserved and on-demand offerings exist', left(false, 'reserved', 'on-demand')),
  same(567, 'of a reserved claim where reserved offerings exist', left(false, 'reserved')),
  same(568, 'of a reserved claim where only on-demand offerings exist', left(false, 'on-demand')),
  same(569, 'of a reserved claim where only spot offerings exist', left(true, 'spot')),
  same(570, 'of a reserved claim where no offerings exist', left(true)),
]);

const idle = (expected: boolean, after: string, status: object, secondsAgo = 60): Check =>
  gives(() => {
    const base = nodeClaim('c');
    const claim = { ...base, status };
    const pool = poolOf([], {}, { disruption: { consolidateAfter: after } });
    return consolidatableAt({ claim, pool, pods: [], pricePerHour: 1 }) <= now + (secondsAgo - 60) * 1000;
  }, expected);
const initialized = (status: 'True' | 'False' | 'Unknown', hours = 1) => ({
  conditions: [{ type: 'Initialized', status, lastTransitionTime: ago(hours) }],
});
const podEvent = (seconds: number) => ({ lastPodEventTime: new Date(now - seconds * 1000).toISOString() });

/** pkg/controllers/nodeclaim/disruption/consolidation_test.go */
export const consolidatableCases: readonly ConformanceCase[] = about('condition Consolidatable', [
  same(
    85,
    'is set consolidateAfter after the last pod event',
    idle(true, '1m', { ...initialized('True'), ...podEvent(60) }),
  ),
  same(
    99,
    'is set consolidateAfter after initialization without pod events',
    idle(true, '1m', initialized('True', 1 / 60)),
  ),
  same(116, 'is not set before', idle(false, '1m', { ...initialized('True'), ...podEvent(59) })),
  same(125, 'is not set under Never', idle(false, 'Never', { ...initialized('True'), ...podEvent(60) })),
  same(134, 'is not set while Initialized is unknown', idle(false, '0s', initialized('Unknown'))),
  same(143, 'is not set before initialization', idle(false, '0s', initialized('False'))),
]);

/** pkg/controllers/nodeclaim/disruption/suite_test.go */
export const claimConditionCases: readonly ConformanceCase[] = about('conditions of a claim', [
  same(
    140,
    'a node of a static pool is never Consolidatable',
    gives(() => {
      const claim = { ...nodeClaim('c'), status: { ...initialized('True'), ...podEvent(3600) } };
      return consolidatableAt({ claim, pool: poolOf([], {}, { replicas: 1 }), pods: [], pricePerHour: 1 });
    }, Number.POSITIVE_INFINITY),
  ),
]);

const behaviour = {
  limits: { cpu: '16' },
  weight: 80,
  disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
};
const migrated = (claim: object, expected: object, drifted = false): Check =>
  gives(() => {
    const conditions = drifted ? [{ type: 'Drifted', status: 'True' as const, lastTransitionTime: ago(1) }] : [];
    const pool = poolOf([], stamp('new', nodePoolHashVersion));
    return migratedHashes({ ...claimOf({}, claim), status: { conditions } }, { pool, nodeClass: { metadata: {} } });
  }, expected);

/** pkg/controllers/nodepool/hash/suite_test.go */
export const poolHashCases: readonly ConformanceCase[] = about('hash of a NodePool', [
  same(109, 'changes with labels and annotations', rehashed({}, { labels: { a: 'b' }, annotations: { c: 'd' } })),
  same(
    126,
    'does not change with limits, weight, disruption and requirements',
    gives(() => {
      const changed = poolOf([oneOf(labels.zone, 'x')], {}, behaviour).spec.template;
      return nodePoolHash(changed) === nodePoolHash(poolOf().spec.template);
    }, true),
  ),
  same(
    163,
    'of a claim of another version is written again with the version',
    migrated(stamp('old', 'test'), {
      [annotations.nodePoolHash]: 'new',
      [annotations.nodePoolHashVersion]: nodePoolHashVersion,
    }),
  ),
  same(200, 'of a claim of this version is kept', migrated(stamp('old', nodePoolHashVersion), {})),
  same(
    228,
    'of a drifted claim of another version is kept',
    migrated(
      stamp('old', 'test'),
      { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: nodePoolHashVersion },
      true,
    ),
  ),
]);
