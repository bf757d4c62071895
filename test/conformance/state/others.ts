import { annotations, labels } from '../../../api/labels.js';
import { offering } from '../../cases/catalogues.js';
import type { CatalogueEntry } from '../../checker/types.js';
import { nominatedNodes } from '../../../activities/disruption-context/nominations.js';
import { nodeViews } from '../../../cluster/cluster.js';
import { conditionOf } from '../../../core/conditions.js';
import { nodePoolHashVersion } from '../../../disruption/drift/template-hash.js';
import { resolveBuffer } from '../../../packing/compile/buffers.js';
import { buffer, objectsOf, one, whole } from '../buffers/made.js';
import { consolidates } from '../consolidations.js';
import { cheap, dear, fleet, of, on, onDemand, poolWith, sold } from '../disruption/fleet.js';
import { foreign } from '../running/claims.js';
import { podOn, runningNode, said } from '../running/nodes.js';
import { addOther } from '../running/pools.js';
import { minute, running, second, type Running } from '../running/stage.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { bound, changed, leaving, observed, roomy } from './observed.js';
import { node, oneOf, zone1, zone2 } from '../world.js';

const old = { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: nodePoolHashVersion };
const drifted = { claim: { annotations: old } };
/** What is said of a node some minutes later. */
const saying = (
  expected: unknown,
  types: readonly string[],
  put: (it: Running) => void,
  pool: object = { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '0' }] } },
): Check =>
  running(
    expected,
    async (it) => {
      put(it);
      await it.pass(7 * minute);
      return types.map((type) => said(it, type).split('/')[0]);
    },
    { pool },
  );
const both = ['Drifted', 'Consolidatable'] as const;

/** pkg/controllers/nodeclaim/disruption/drift_test.go */
export const otherDriftCases: readonly ConformanceCase[] = about('condition Drifted', [
  same(
    84,
    'leaves claims of another provider',
    saying(['none'], ['Drifted'], (it) => runningNode(it, 'n1', { ...drifted, spec: foreign })),
  ),
  same(
    190,
    'leaves claims of a missing NodePool',
    saying(['none'], ['Drifted'], (it) =>
      runningNode(it, 'n1', { claim: { annotations: old, labels: { [labels.nodePool]: 'gone' } } }),
    ),
  ),
]);

/** pkg/controllers/nodeclaim/disruption/consolidation_test.go */
export const otherConsolidatableCases: readonly ConformanceCase[] = about('condition Consolidatable', [
  same(
    52,
    'leaves claims of another provider',
    saying(['none'], ['Consolidatable'], (it) => runningNode(it, 'n1', { spec: foreign })),
  ),
]);

/** pkg/controllers/nodeclaim/disruption/suite_test.go */
export const severalConditionCases: readonly ConformanceCase[] = about('conditions of a claim', [
  same(
    125,
    'Drifted and Consolidatable',
    saying(['True', 'True'], both, (it) => runningNode(it, 'n1', drifted)),
  ),
  same(
    170,
    'neither any more',
    saying(
      ['none', 'none'],
      both,
      (it) => runningNode(it, 'n1', { conditions: ['Launched', 'Registered', 'Initialized', ...both] }),
      { disruption: { consolidateAfter: 'Never' } },
    ),
  ),
]);

/** What a NodePool carries some seconds later. */
const poolSays = (expected: unknown, put: (it: Running) => void, result: (it: Running) => unknown): Check =>
  running(expected, async (it) => {
    put(it);
    await it.pass(10 * second);
    return result(it);
  });
const stamps = (it: Running, name: string): readonly unknown[] => {
  const own = it.get('NodePool', name)?.metadata.annotations ?? {};
  const hash = own[annotations.nodePoolHash];
  return [hash !== undefined && hash !== 'old', own[annotations.nodePoolHashVersion]];
};

/** pkg/controllers/nodepool/hash/suite_test.go */
export const otherHashCases: readonly ConformanceCase[] = about('hash of a NodePool', [
  same(
    96,
    'is not written for another provider',
    poolSays(
      [false, undefined],
      (it) => addOther(it, foreign),
      (it) => stamps(it, 'other'),
    ),
  ),
  same(
    149,
    'of another version is written again',
    poolSays(
      [true, nodePoolHashVersion],
      (it) => {
        const own = it.get('NodePool', 'default')!;
        const oldHash = { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: 'test' };
        it.kube.put('NodePool', { ...own, metadata: { ...own.metadata, annotations: oldHash } });
      },
      (it) => stamps(it, 'default'),
    ),
  ),
]);

const validated = (expected: string | undefined, template: object): Check =>
  poolSays(
    expected,
    (it) => addOther(it, template),
    (it) => conditionOf(it.get('NodePool', 'other')?.status?.conditions, 'ValidationSucceeded')?.status,
  );
const ownClass = { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } };
const longKey = `test.com.test.${'a'.repeat(250)}/test`;

/** pkg/controllers/nodepool/validation/suite_test.go */
export const otherValidationCases: readonly ConformanceCase[] = about('validation of a NodePool at run time', [
  same(112, 'leaves NodePools of another provider', validated(undefined, foreign)),
  same(123, 'accepts a valid NodePool', validated('True', ownClass)),
  same(
    131,
    'refuses a taint with too long a key',
    validated('False', { ...ownClass, taints: [{ key: longKey, effect: 'NoSchedule' }] }),
  ),
]);

const starting = (name: string) => node(name, { initialized: false });
const r = (entry: CatalogueEntry): CatalogueEntry => {
  const made = offering(zone1, 'reserved', 0.000001);
  const id = oneOf('karpenter.k8s.aws/capacity-reservation-id', `r-${entry.name}`);
  return {
    ...entry,
    offerings: [...entry.offerings, { ...made, ReservationCapacity: 10, Requirements: [...made.Requirements, id] }],
  };
};
const onReserved = { capacityType: 'reserved', labels: { 'karpenter.k8s.aws/capacity-reservation-id': 'r-dear' } };
const priced = (entry: CatalogueEntry, price: number): CatalogueEntry => ({
  ...entry,
  offerings: entry.offerings.map((each) => (each.Price < 0.01 ? { ...each, Price: price } : each)),
});

const threeCpus = [{ name: 'c', image: 'c', resources: { requests: { cpu: '3' } } }];

/** pkg/controllers/disruption/consolidation_test.go */
export const otherConsolidationCases: readonly ConformanceCase[] = about('consolidation', [
  same(
    3245,
    'pods move to the one initialized node',
    consolidates(
      {
        catalogue: fleet,
        objects: [
          onDemand(),
          of('n', dear),
          on('n', 'p', { cpu: '2' }),
          ...Array.from({ length: 20 }, (_, i) => starting(`s-${i}`)),
          of('ready', cheap),
          on('ready', 'q', { cpu: '1' }),
        ],
      },
      { gone: ['n'], launched: [] },
    ),
  ),
  same(
    4429,
    'of two equal nodes the one with fewer pods is removed',
    consolidates(
      { catalogue: fleet, objects: [onDemand(), of('a'), of('b'), on('a', 'p'), on('a', 'q'), on('b', 'r')] },
      { gone: ['b'], launched: [] },
    ),
  ),
  same(
    4660,
    'a pod created during a replacement uses the launched node',
    running(
      [2, 2],
      async (it) => {
        runningNode(it, 'n1', {
          claim: { annotations: old, finalizers: ['karpenter.sh/termination', 'example.com/held'] },
        });
        podOn(it, 'web', { spec: { containers: threeCpus } });
        const claims = (): number => it.kube.objects('NodeClaim').length;
        await it.pass(5 * minute);
        const before = claims();
        podOn(it, 'late', { spec: { nodeName: '', containers: [] }, phase: 'Pending' });
        await it.pass(2 * minute);
        return [before, claims()];
      },
      { boots: true, pool: { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } } },
    ),
  ),
  same(
    4706,
    'a node launched for pods of a draining one stays (provisioning/nominated-nodes)',
    observed(['m'], async (it) => {
      const launched = changed(roomy('m'), 'NodeClaim', ({ metadata }) => ({
        metadata: { ...metadata, annotations: { [annotations.plannedPods]: 'default/web' } },
      }));
      await it.put(...leaving(roomy(), 'Node'), bound('web', { cpu: '1' }), ...launched);
      return [...nominatedNodes(it.deps, [], { views: await nodeViews(it.deps), rooms: [] }).nominated];
    }),
  ),
  same(
    4816,
    'an expensive reservation is left for a cheap one',
    consolidates(
      {
        catalogue: [priced(r(cheap), 0.000001), priced(r(dear), 0.003)],
        objects: [poolWith(), of('n', dear, onReserved), on('n', 'p')],
      },
      { gone: ['n'], launched: ['cheap'], capacityTypes: ['reserved'] },
    ),
  ),
]);

/** What is saved by replacing a node of half a dollar by one of these offerings. */
const saves = (
  expected: boolean,
  offerings: CatalogueEntry['offerings'],
  objects: Parameters<typeof consolidates>[0]['objects'],
  price: number,
): Check =>
  consolidates(
    {
      catalogue: [
        sold('source', 4, 0, { offerings: [offering(zone1, 'on-demand', 0.5)] }),
        sold('target', 4, 0, { offerings }),
      ],
      objects: [...objects, of('n', sold('source', 4, 0.5)), on('n', 'p')],
    },
    { cheaper: expected, ...(price > 0 && { saved: price }) },
  );
const zonal = poolWith({}, { requirements: [oneOf(labels.zone, zone1), oneOf(labels.capacityType, 'on-demand')] });

/** pkg/controllers/disruption/consolidation_logging_test.go */
export const savingCases: readonly ConformanceCase[] = about('saving of a command', [
  notApplicable(
    42,
    'a label of a metric for why a command no longer held',
    'a command that no longer holds says why in its own words in its history and events',
  ),
  same(
    100,
    'of two replacements is added up',
    consolidates(
      {
        catalogue: [
          sold('source', 8, 0, { offerings: [offering(zone1, 'on-demand', 0.5)] }),
          sold('a', 4, 0, { offerings: [offering(zone1, 'on-demand', 0.2)] }),
        ],
        objects: [
          onDemand(),
          of('n', sold('source', 8, 0.5)),
          of('m', sold('source', 8, 0.5)),
          on('n', 'p', { cpu: '4' }),
          on('m', 'q', { cpu: '4' }),
        ],
      },
      { gone: ['m', 'n'], launched: ['a', 'a'], saved: 0.6 },
    ),
  ),
  same(
    158,
    'on-demand does not count spot prices',
    saves(true, [offering(zone1, 'spot', 0.1), offering(zone1, 'on-demand', 0.4)], [onDemand()], 0.1),
  ),
  same(
    224,
    'one zone does not count prices of another',
    saves(true, [offering(zone2, 'on-demand', 0.05), offering(zone1, 'on-demand', 0.45)], [zonal], 0.05),
  ),
  same(
    289,
    'spot prices count where the pool allows spot',
    saves(true, [offering(zone1, 'spot', 0.1), offering(zone1, 'on-demand', 0.4)], [poolWith()], 0.4),
  ),
  notApplicable(353, 'a command of nothing', 'there is none'),
  notApplicable(
    [422, 492, 530],
    'how log lines and events word a command',
    'their words are our own: docs/behaviour/events.md and the decision record',
  ),
]);

/** pkg/controllers/disruption/suite_test.go */
export const deadlineCases: readonly ConformanceCase[] = [
  notApplicable(
    2140,
    'how long a search for several nodes may take',
    'a search is bounded by what it tries, and what it has found by then is used',
  ),
];

const eventsOf =
  'approval by score has no event: the decision record of the command has the saving and what it disrupts';
/** pkg/controllers/disruption/balanced_scoring_test.go */
export const priceCases: readonly ConformanceCase[] = about('price of a node', [
  same(
    410,
    'of an unknown type is 0',
    consolidates(
      { catalogue: fleet, objects: [onDemand(), of('n', sold('unknown', 4, 1)), on('n', 'p')] },
      { gone: [] },
    ),
  ),
  same(
    416,
    'is that of its offering',
    consolidates(
      { catalogue: fleet, objects: [onDemand(), of('n', dear), on('n', 'p')] },
      { gone: ['n'], launched: ['cheap'], saved: 2.8 },
    ),
  ),
  notApplicable([642, 661, 678], 'events of what was approved', eventsOf),
]);

/** pkg/controllers/disruption/balanced_adversarial_test.go */
export const unavailableCases: readonly ConformanceCase[] = about('price of an unavailable type', [
  same(
    133,
    'is the same though no offering is available',
    consolidates(
      {
        catalogue: [{ ...dear, offerings: dear.offerings.map((each) => ({ ...each, Available: false })) }, cheap],
        objects: [onDemand(), of('n', dear), on('n', 'p')],
      },
      { gone: ['n'], launched: ['cheap'], saved: 2.8 },
    ),
  ),
]);

/** pkg/controllers/capacitybuffer/suite_test.go */
export const changedBufferCases: readonly ConformanceCase[] = about('changed capacity buffer', [
  same(
    479,
    'a changed PodTemplate is resolved again',
    gives(() => {
      const objects = objectsOf({ spec: one }, 10);
      const [template] = objects.podTemplates!;
      const later = {
        ...objects,
        podTemplates: [{ ...template!, metadata: { ...template!.metadata, generation: 3 } }],
      };
      return [objects, later].map((each) => {
        const found = resolveBuffer(each, buffer(whole));
        return 'reason' in found ? found.reason : found.generation;
      });
    }, [2, 3]),
  ),
  notApplicable(
    [526, 550],
    'whether the controller of buffers has planning look',
    'planning itself looks at all buffers, with each batch, and every half minute while there are any (operator/pending-pods.ts)',
  ),
]);

/** pkg/scheduling/requirements_test.go */
export const profileCases: readonly ConformanceCase[] = [
  notApplicable(714, 'a profile of processor time', 'a measurement; docs/benchmarks.md has those of both'),
];
