import type { Node, Taint } from '../../../api/kubernetes.js';
import { annotations, labels, taints } from '../../../api/labels.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { ask, change, claimOf, foreign, healthOf, join, joins, notReady, owned, states, usual } from './claims.js';
import { renewed } from './launching.js';
import { said } from './nodes.js';
import { catalogue } from '../../builders/activity-world.js';
import { minute, running } from './stage.js';

const own: readonly Taint[] = [
  { key: 'example.com/a', value: 'a', effect: 'NoSchedule' },
  { key: 'example.com/b', value: 'b', effect: 'NoExecute' },
];
const startup: readonly Taint[] = [
  { key: 'example.com/s', value: 's', effect: 'NoSchedule' },
  { key: 'example.com/t', value: 't', effect: 'NoExecute' },
];
const keys = (node: Node): string[] => (node.spec?.taints ?? []).map(({ key }) => key).sort();
const keeps = (value: string): { metadata: object; taints: Taint[] } => ({
  metadata: { name: 'n1', labels: { [labels.doNotSyncTaints]: value } },
  taints: [notReady, { ...taints.unregistered }],
});
const all = ['example.com/a', 'example.com/b'];
const both = [...all, 'example.com/s', 'example.com/t'];

const syncCases: readonly ConformanceCase[] = about('registration', [
  same(
    139,
    'finds the Node by provider ID',
    joins(
      { registered: 'True/Registered', nodeName: 'n1', health: 'True' },
      (_, it) => ({
        registered: said(it, 'Registered', 'c1'),
        nodeName: claimOf(it)?.status?.nodeName,
        health: healthOf(it),
      }),
      { metadata: owned },
    ),
  ),
  same(
    140,
    'leaves claims of another provider',
    joins([undefined, undefined], (_, it) => [claimOf(it)?.status?.nodeName, claimOf(it)?.status?.conditions], {
      spec: foreign,
    }),
  ),
  same(
    142,
    'makes the claim owner of the Node',
    joins(['uid-c1'], (node) => node.metadata.ownerReferences?.map(({ uid }) => uid)),
  ),
  same(
    161,
    'adds the owner once',
    joins(
      ['uid-c1'],
      (node) => node.metadata.ownerReferences?.map(({ uid }) => uid),
      {},
      {
        metadata: {
          name: 'n1',
          ownerReferences: [
            { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'c1', uid: 'uid-c1', blockOwnerDeletion: true },
          ],
        },
      },
    ),
  ),
  same(
    197,
    'sets the registered label and removes the unregistered taint',
    joins(['true', []], (node) => [node.metadata.labels?.[labels.registered], keys(node)]),
  ),
  same(
    216,
    'goes on without the unregistered taint',
    joins(
      ['true', ['UnregisteredTaintMissing']],
      (node, it) => [
        node.metadata.labels?.[labels.registered],
        it.eventReasons('c1').filter((reason) => reason !== 'Launched'),
      ],
      {},
      { taints: [] },
    ),
  ),
  same(
    245,
    'adds labels',
    joins(['x', 'y'], (node) => [node.metadata.labels?.['example.com/x'], node.metadata.labels?.['example.com/y']], {
      metadata: { labels: { 'example.com/x': 'x', 'example.com/y': 'y' } },
    }),
  ),
  same(
    271,
    'adds annotations',
    joins(
      ['true', 'z'],
      (node) => [node.metadata.annotations?.[annotations.doNotDisrupt], node.metadata.annotations?.['example.com/z']],
      { metadata: { annotations: { [annotations.doNotDisrupt]: 'true', 'example.com/z': 'z' } } },
    ),
  ),
  same(299, 'adds taints', joins(all, keys, { spec: { taints: own } })),
  same(
    320,
    'adds taints unless do-not-sync-taints is true',
    joins([...all, notReady.key], keys, { spec: { taints: own } }, keeps('false')),
  ),
  same(
    347,
    'adds no taints with do-not-sync-taints',
    joins([notReady.key], keys, { spec: { taints: own } }, keeps('true')),
  ),
  same(
    377,
    'adds no startup taints with do-not-sync-taints',
    joins([notReady.key], keys, { spec: { taints: own, startupTaints: startup } }, keeps('true')),
  ),
  same(410, 'adds startup taints', joins(both, keys, { spec: { taints: own, startupTaints: startup } })),
  same(
    435,
    'adds startup taints unless do-not-sync-taints is true',
    joins([...both, notReady.key], keys, { spec: { taints: own, startupTaints: startup } }, keeps('false')),
  ),
  same(
    466,
    'adds startup taints once',
    joins(
      [],
      async (_, it) => {
        await change(it, { spec: { taints: [] } });
        await it.pass(5 * minute);
        return keys(it.get('Node', 'n1')!);
      },
      { spec: { startupTaints: startup } },
      { taints: [...startup, { ...taints.unregistered }] },
    ),
  ),
]);

const healthCases: readonly ConformanceCase[] = about('registration and NodeRegistrationHealthy', [
  same(
    495,
    'makes the pool healthy',
    running('True', async (it) => {
      await ask(it, { metadata: owned });
      await join(it);
      return healthOf(it);
    }),
  ),
  same(
    531,
    'keeps the pool unhealthy after two failures',
    running(['False', 'True/Registered', 'False'], async (it) => {
      await ask(it, { metadata: owned }, 'f1', 0);
      await ask(it, { metadata: owned }, 'f2', 17 * minute);
      const before = healthOf(it);
      await ask(it, { metadata: owned });
      await join(it);
      return [before, said(it, 'Registered', 'c1'), healthOf(it)];
    }),
  ),
  same(
    616,
    'does not count for a recreated pool',
    running(['Unknown', 'True/Registered'], async (it) => {
      await ask(it, { metadata: owned });
      renewed(it);
      await join(it);
      return [healthOf(it), said(it, 'Registered', 'c1')];
    }),
  ),
  notApplicable(
    [[668, 957]],
    'hooks that hold a registration up',
    'hooks of other programs; registration/registered says what is waited for here',
  ),
]);

/** pkg/controllers/nodeclaim/lifecycle/registration_test.go */
export const registrationCases: readonly ConformanceCase[] = [...syncCases, ...healthCases];

const devices = { resources: { requests: { cpu: '2', 'example.com/gpu': '1' } } };
/** The same type, with two devices. */
const types = catalogue.map((type) => ({ ...type, capacity: { ...type.capacity, 'example.com/gpu': 2 } }));
const withDevices = { ...usual, 'example.com/gpu': '2' };

/** Said of the claim before and after the Node is changed. */
const until = (patch: object, node: Parameters<typeof join>[1], spec: object = {}, status?: object): Check =>
  running(
    ['True/Unknown', 'True/True'],
    async (it) => {
      await ask(it, { spec });
      await join(it, node);
      const before = states(it);
      if (status !== undefined) {
        await it.kube.patch('Node', { name: 'n1' }, { status }, { subresource: 'status' });
      }
      await change(it, patch);
      return [before, states(it)];
    },
    { types },
  );
const waits = (node: Parameters<typeof join>[1], spec: object = {}): Check =>
  running(
    'True/Unknown',
    async (it) => {
      await ask(it, { spec });
      await join(it, node);
      return states(it);
    },
    { types },
  );
const ephemeral: readonly Taint[] = [
  notReady,
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
  { ...taints.unregistered },
];

/** pkg/controllers/nodeclaim/lifecycle/initialization_test.go */
export const initializationCases: readonly ConformanceCase[] = about('initialization', [
  same(
    112,
    'when the Node is Ready',
    until({}, { isReady: false }, {}, { conditions: [{ type: 'Ready', status: 'True' }] }),
  ),
  same(
    113,
    'not for another provider',
    running('none', async (it) => {
      await ask(it, { spec: foreign });
      await join(it);
      return said(it, 'Initialized', 'c1');
    }),
  ),
  same(
    115,
    'not before registration',
    running('Unknown', async (it) => {
      await ask(it);
      return said(it, 'Initialized', 'c1').split('/')[0];
    }),
  ),
  same(
    166,
    'sets the initialized label',
    joins('true', (node) => node.metadata.labels?.[labels.initialized]),
  ),
  same(209, 'not while the Node is NotReady', waits({ isReady: false })),
  same(253, 'not without the requested devices', waits({}, devices)),
  same(
    304,
    'once the requested devices exist',
    until({}, {}, devices, { capacity: withDevices, allocatable: withDevices }),
  ),
  same(368, 'not with a startup taint', waits({}, { startupTaints: startup })),
  same(441, 'once startup taints are gone', until({ spec: { taints: [] } }, {}, { startupTaints: startup })),
  same(508, 'not with an ephemeral taint', waits({ taints: ephemeral })),
  same(578, 'once ephemeral taints are gone', until({ spec: { taints: [] } }, { taints: ephemeral })),
  same(
    658,
    'not with a taint of a readiness rule',
    until(
      { spec: { taints: [] } },
      { taints: [{ ...taints.unregistered }, { key: 'readiness.k8s.io/rule', effect: 'NoSchedule' }] },
    ),
  ),
]);
