import { staticPool, usualBudgets, usualLife } from '../pools.js';
import { addPool, template } from '../world.js';
import { labels } from '../../../../api/labels.js';
import { disruptionPolicies } from '../../../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../../../../api/stowage/disruption-policy.js';
import type { Stage } from '../stage.js';
import { listed, minuteMs, pickOr } from './happening.js';

const otherBudgets: readonly (readonly object[])[] = [
  [{ nodes: '1' }],
  [{ nodes: '50%' }],
  [{ nodes: '0' }],
  [{ nodes: '20%' }, { nodes: '0', reasons: ['Drifted'] }],
  [{ nodes: '30%' }, { nodes: '1', reasons: ['Underutilized', 'Empty'] }],
  [{ nodes: '30%' }, { nodes: '0', schedule: '0 * * * *', duration: '20m' }],
  [{ nodes: '30%' }, { nodes: '1', schedule: '30 * * * *', duration: '10m', reasons: ['Empty'] }],
];
const policies: readonly object[] = [
  { driftRollout: { canary: '1', soak: '2m', growthFactor: 2, maximumWave: '50%' } },
  { driftRollout: { canary: '50%', soak: '1m', onFailure: 'Rollback' } },
  { rates: [{ nodes: '2', per: '10m' }] },
  { coolDown: '10m', maxMoveChain: 2 },
  { mode: 'Recommend' },
  { expiration: { mode: 'Forceful' } },
  { drainEscalation: [{ after: '1m', action: 'Notify' }] },
  { repair: { steps: [{ action: 'Reboot', wait: '2m' }, { action: 'Replace', wait: '5m' }, { action: 'Force' }] } },
  { rebalanceRecommendation: 'Replace' },
  { approval: [{ timeout: '3m', onTimeout: 'Approve' }] },
  { approval: [{ reasons: ['Drifted', 'Expired'], timeout: '5m', onTimeout: 'Reject' }] },
  { maintenanceWindows: [{ name: 'often', schedule: '*/20 * * * *', duration: '5m', quota: '1' }] },
  { savings: { minimumPercent: 30 }, nodeCost: '0.5' },
  { spotRatio: { spotPercent: 50 } },
  { expiration: { mode: 'ReplaceFirst', lead: '1m', jitter: '10m', hardDeadline: '5m' } },
  { drainEscalation: [{ after: '1m', action: 'AskApproval' }] },
];

/** What is set otherwise. */
export const settingsHappenings = listed([
  {
    name: 'the template of a NodePool changes',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const revised = { revision: `r${random.int(0, 2 ** 31)}` };
      void kube.patch('NodePool', { name: 'default' }, { spec: { template: { metadata: { labels: revised } } } });
    },
  },
  {
    name: 'a static NodePool is resized',
    weight: 2,
    happens: ({ random, cluster: { kube } }) =>
      void kube.patch('NodePool', { name: staticPool }, { spec: { replicas: random.int(0, 3) } }),
  },
  {
    name: 'new nodes are to expire, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const lifeMinutes = random.int(10, 40);
      const expire = (expireAfter: string): void =>
        void kube.patch('NodePool', { name: 'default' }, { spec: { template: { spec: { expireAfter } } } });
      expire(`${lifeMinutes}m`);
      later(random.int(5, 30) * minuteMs, () => {
        expire(usualLife);
        // The last of them has come to its end by then.
        later((lifeMinutes + 10) * minuteMs, () => undefined);
      });
    },
  },
  {
    name: 'the budgets of a NodePool change, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const set = (budgets: readonly object[]): void =>
        void kube.patch('NodePool', { name: 'default' }, { spec: { disruption: { budgets } } });
      set(random.pick(otherBudgets));
      later(random.int(5, 40) * minuteMs, () => set(usualBudgets));
    },
  },
  {
    name: 'a DisruptionPolicy appears, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const name = `policy-${random.int(0, 2 ** 31)}`;
      void kube.create('DisruptionPolicy', policyOf(name, random.pick(policies)));
      later(random.int(5, 90) * minuteMs, () => void kube.delete('DisruptionPolicy', { name }));
    },
  },
  {
    name: 'a DisruptionPolicy is withdrawn',
    weight: 1,
    happens: ({ random, cluster: { kube } }) => {
      const name = pickOr(random, kube.kept('DisruptionPolicy'))?.metadata.name;
      if (name !== undefined) void kube.delete('DisruptionPolicy', { name });
    },
  },
  {
    name: 'a DisruptionPolicy is changed',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const policy = pickOr(random, kube.kept('DisruptionPolicy'));
      if (policy === undefined) return;
      const { metadata } = policy;
      const { spec } = policyOf(metadata.name ?? '', random.pick(policies));
      // In place: a merge patch would keep what the new one does not say.
      const generation = (metadata.generation ?? 1) + 1;
      kube.put('DisruptionPolicy', { ...policy, metadata: { ...metadata, generation }, spec });
    },
  },
  {
    name: 'a NodeOverlay appears, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { kube } }) => {
      const name = `overlay-${random.int(0, 2 ** 31)}`;
      const [capacityType, other] = random.pick([
        ['spot', '+300%'],
        ['on-demand', '-90%'],
      ] as const);
      const requirements = [{ key: labels.capacityType, operator: 'In', values: [capacityType] }];
      void kube.create('NodeOverlay', { metadata: { name }, spec: { requirements, priceAdjustment: other } } as never);
      later(random.int(5, 40) * minuteMs, () => void kube.delete('NodeOverlay', { name }));
    },
  },
  { name: 'a NodePool appears, and goes with its nodes', weight: 1, happens: (stage) => addForSomeTime(stage) },
]);

/** With its defaults, which an API server fills in. */
const policyOf = (name: string, spec: object): DisruptionPolicy =>
  disruptionPolicies.mustParse({
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name },
    spec,
  });

function addForSomeTime({ random, later, cluster: { kube } }: Stage): void {
  const name = `extra-${random.int(0, 2 ** 31)}`;
  addPool(kube, name, {
    template: { spec: { ...template, terminationGracePeriod: '5m' } },
    weight: random.int(1, 100),
    limits: { cpu: String(random.int(1, 5) * 8) },
    disruption: { consolidateAfter: '1m', budgets: usualBudgets },
  });
  later(random.int(10, 40) * minuteMs, () => {
    void kube.delete('NodePool', { name });
    // Kubernetes' garbage collector: claims belong to their NodePool.
    setTimeout(() => {
      for (const { metadata } of kube.kept('NodeClaim')) {
        if (metadata.labels?.[labels.nodePool] === name) void kube.delete('NodeClaim', { name: metadata.name ?? '' });
      }
    }, 1000);
  });
}
