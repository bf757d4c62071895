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
  same(83, 'what the provider says', drifts('AMIDrift', { provider: 'AMIDrift' })),
  same(86, 'a claim without the label of its type', drifts('InstanceTypeNotFound', { claim: unlabelled })),
  same(95, 'a type that is gone', drifts('InstanceTypeNotFound', { types: [] })),
  same(104, 'a type that is offered nowhere', drifts('InstanceTypeNotFound', { types: [offers()] })),
  same(
    116,
    'a type that is offered elsewhere',
    drifts('InstanceTypeNotFound', { types: [offers([zone2, 'on-demand'])] }),
  ),
  same(
    134,
    'the template comes before the provider',
    drifts('NodePoolDrifted', {
      claim: claimOf({}, stamp('1', 'v')),
      pool: poolOf([], stamp('2', 'v')),
      provider: 'AMIDrift',
    }),
  ),
  same(
    151,
    'and so do requirements',
    drifts('RequirementsDrifted', { pool: poolOf([oneOf(labels.zone, zone2)]), provider: 'AMIDrift' }),
  ),
  same(166, 'a claim of which nobody knows whether it is launched', looked(false, 'Unknown')),
  same(178, 'a claim that is not launched', looked(false, 'False')),
  notApplicable(198, 'the condition goes', 'operator/drift.test.ts has what is written'),
  same(228, 'other values', required(true, [oneOf(labels.capacityType, 'spot')])),
  same(244, 'a requirement more', required(true, [oneOf(labels.arch, 'amd64')])),
  same(261, 'fewer values', required(true, [oneOf(labels.os, 'windows')])),
  same(277, 'more values', required(false, [oneOf(labels.os, 'linux', 'windows')])),
  same(293, 'Exists', required(false, [op(labels.os, 'Exists')])),
  same(309, 'DoesNotExist', required(true, [op(labels.os, 'DoesNotExist')])),
  same(
    325,
    'a number that is too small now',
    required(true, [op('example.com/n', 'Gt', '10')], { 'example.com/n': '5' }),
  ),
  same(
    341,
    'a number that is too large now',
    required(true, [op('example.com/n', 'Lt', '1')], { 'example.com/n': '2' }),
  ),
  same(
    358,
    'one of two claims',
    gives(
      () =>
        ['linux', 'windows'].map((os) =>
          templateDrift(claimOf({ [labels.os]: os }), poolOf([noneOf(labels.os, 'windows')])),
        ),
      [undefined, 'RequirementsDrifted'],
    ),
  ),
  same(474, 'other annotations', rehashed({}, { annotations: { a: 'b' } })),
  same(475, 'other labels', rehashed({}, { labels: { a: 'b' } })),
  same(476, 'other taints', rehashed({ taints: taint })),
  same(477, 'other startup taints', rehashed({ startupTaints: taint })),
  same(478, 'another node class', rehashed({ nodeClassRef: { ...other.nodeClassRef, name: 'other' } })),
  same(479, 'another expiry', rehashed({ expireAfter: '100m' })),
  same(480, 'another grace period', rehashed({ terminationGracePeriod: '100m' })),
  same(482, 'a pool without a hash', stamped(stamp('1', 'v'), {})),
  same(489, 'a claim without a hash', stamped(stamp(undefined, 'v'), stamp('2', 'v'))),
  same(498, 'hashes of two versions', stamped(stamp('1', 'v'), stamp('2', 'w'))),
  same(512, 'a claim without a version', stamped(stamp('1'), stamp('2', 'v'))),
  same(566, 'reserved, of which there are reserved and on-demand ones', left(false, 'reserved', 'on-demand')),
  same(567, 'reserved, of which there are reserved ones', left(false, 'reserved')),
  same(568, 'reserved, of which there are on-demand ones', left(false, 'on-demand')),
  same(569, 'reserved, of which there are spot ones', left(true, 'spot')),
  same(570, 'reserved, of which there are none', left(true)),
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
  same(85, 'some time after a pod came or went', idle(true, '1m', { ...initialized('True'), ...podEvent(60) })),
  same(99, 'some time after initialization, where no pod ever came', idle(true, '1m', initialized('True', 1 / 60))),
  same(116, 'not before', idle(false, '1m', { ...initialized('True'), ...podEvent(59) })),
  same(125, 'never', idle(false, 'Never', { ...initialized('True'), ...podEvent(60) })),
  same(134, 'not while nobody knows whether it is initialized', idle(false, '0s', initialized('Unknown'))),
  same(143, 'not before it is initialized', idle(false, '0s', initialized('False'))),
]);

/** pkg/controllers/nodeclaim/disruption/suite_test.go */
export const claimConditionCases: readonly ConformanceCase[] = about('conditions of a claim', [
  same(
    140,
    'a node of a static pool never is Consolidatable',
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
  same(109, 'labels and annotations change the hash', rehashed({}, { labels: { a: 'b' }, annotations: { c: 'd' } })),
  same(
    126,
    'limits, weight, disruption and requirements do not',
    gives(() => {
      const changed = poolOf([oneOf(labels.zone, 'x')], {}, behaviour).spec.template;
      return nodePoolHash(changed) === nodePoolHash(poolOf().spec.template);
    }, true),
  ),
  same(
    163,
    'a claim of another version gets hash and version',
    migrated(stamp('old', 'test'), {
      [annotations.nodePoolHash]: 'new',
      [annotations.nodePoolHashVersion]: nodePoolHashVersion,
    }),
  ),
  same(200, 'a claim of this version keeps its hash', migrated(stamp('old', nodePoolHashVersion), {})),
  same(
    228,
    'a drifted claim of another version keeps its hash',
    migrated(
      stamp('old', 'test'),
      { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: nodePoolHashVersion },
      true,
    ),
  ),
]);
