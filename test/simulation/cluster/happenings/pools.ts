import { labels } from '../../../../api/labels.js';
import { addPool } from '../world.js';
import { defaultSpec, staticPool, staticSpec } from '../pools.js';
import { refOf } from '../../kube/fake-storage.js';
import type { Stage } from '../stage.js';
import { listed, minuteMs } from './happening.js';

const limits: readonly object[] = [{ cpu: '4' }, { cpu: '16' }, { nodes: '1' }, { nodes: '3' }, { memory: '1Gi' }];
const disruptions: readonly object[] = [
  { consolidateAfter: 'Never' },
  { consolidateAfter: '0s' },
  { consolidateAfter: '5m' },
  { consolidationPolicy: 'WhenEmpty' },
];
const capacityTypes = [['on-demand'], ['spot'], ['spot', 'on-demand']] as const;

/** What becomes of NodePools besides. */
export const poolHappenings = listed([
  {
    name: 'a NodePool is limited below what it uses, for some minutes',
    weight: 2,
    happens: (stage) => changeForSomeTime(stage, { limits: stage.random.pick(limits) }, { limits: null }),
  },
  {
    name: 'a NodePool consolidates otherwise, for some minutes',
    weight: 2,
    happens: (stage) => {
      const { consolidationPolicy, consolidateAfter } = defaultSpec.disruption;
      const disruption = stage.random.pick(disruptions);
      changeForSomeTime(stage, { disruption }, { disruption: { consolidationPolicy, consolidateAfter } });
    },
  },
  {
    name: 'a NodePool asks for other machines, for some minutes',
    weight: 2,
    happens: (stage) => {
      const values = stage.random.pick(capacityTypes);
      const requirements = [{ key: labels.capacityType, operator: 'In', values }];
      const asking = (wanted: readonly object[]): object => ({ template: { spec: { requirements: wanted } } });
      changeForSomeTime(stage, asking(requirements), asking([]));
    },
  },
  {
    name: 'new nodes are to be emptied faster, for some minutes',
    weight: 1,
    happens: (stage) => {
      const within = (terminationGracePeriod: string): object => ({ template: { spec: { terminationGracePeriod } } });
      changeForSomeTime(stage, within(`${stage.random.int(30, 240)}s`), within('10m'));
    },
  },
  {
    name: 'the template of a static NodePool changes',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const revised = { revision: `r${random.int(0, 2 ** 31)}` };
      const spec = { template: { metadata: { labels: revised } } };
      const limited = random.chance(0.3) ? { ...spec, limits: { nodes: String(random.int(1, 3)) } } : spec;
      void kube.patch('NodePool', { name: staticPool }, { spec: limited });
    },
  },
  {
    name: 'a NodePool is deleted and made anew',
    weight: 1,
    happens: (stage) => makeAnew(stage, 'default', defaultSpec),
  },
  {
    name: 'a static NodePool is deleted and made anew',
    weight: 1,
    happens: (stage) => makeAnew(stage, staticPool, { ...staticSpec, replicas: stage.random.int(0, 3) }),
  },
]);

/** Of the NodePool `default`. */
function changeForSomeTime({ random, later, cluster: { kube } }: Stage, spec: object, before: object): void {
  void kube.patch('NodePool', { name: 'default' }, { spec });
  later(random.int(5, 30) * minuteMs, () => void kube.patch('NodePool', { name: 'default' }, { spec: before }));
}

/** Under the same name, while Kubernetes' garbage collector deletes the claims of the one before. */
function makeAnew({ random, later, cluster: { kube } }: Stage, name: string, spec: object): void {
  const before = kube.kept('NodePool').find(({ metadata }) => metadata.name === name);
  if (before === undefined) return;
  void kube.delete('NodePool', refOf(before));
  later(random.int(1, 120) * 1000, () => {
    if (kube.kept('NodePool').every(({ metadata }) => metadata.name !== name)) {
      addPool(kube, name, spec, `pool-${name}-${random.int(0, 2 ** 31)}`);
    }
  });
  setTimeout(
    () => {
      for (const claim of kube.kept('NodeClaim')) {
        const owners = claim.metadata.ownerReferences ?? [];
        if (owners.some(({ uid }) => uid === before.metadata.uid)) void kube.delete('NodeClaim', refOf(claim));
      }
    },
    random.int(1, 60) * 1000,
  );
}
