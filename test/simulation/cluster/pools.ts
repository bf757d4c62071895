import { annotations } from '../../../api/labels.js';
import { parseQuantity } from '../../../core/quantities.js';
import type { FakeKube } from '../kube/fake.js';
import type { Replicas } from '../scale-down/workloads.js';
import { addPool, mostCpus, template } from './world.js';

/** The NodePool with `replicas`. */
export const staticPool = 'static';

/** The budgets of the NodePool `default` in ordinary times. */
export const usualBudgets = [{ nodes: '20%' }];

/** How long nodes live in ordinary times: longer than any run. */
export const usualLife = '720h';

// Protected pods end with a node that is deleted by hand.
const shared = { template: { spec: { ...template, terminationGracePeriod: '10m', expireAfter: usualLife } } };

/** The NodePool `default` in ordinary times. */
export const defaultSpec = {
  ...shared,
  disruption: {
    consolidateAfter: '30s',
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    budgets: usualBudgets,
  },
};

export const staticSpec = { ...shared, replicas: 1 };

export function addPools(kube: FakeKube): void {
  addPool(kube, 'default', defaultSpec);
  addPool(kube, staticPool, staticSpec);
}

/** What runs, and what of it must not be disrupted. */
export const workloads: readonly Replicas[] = [
  { app: 'small', requests: { cpu: '500m', memory: '1Gi' } },
  { app: 'middle', requests: { cpu: '1500m', memory: '3Gi' }, graceSeconds: 30 },
  { app: 'large', requests: { cpu: '3', memory: '12Gi' }, graceSeconds: 150 },
  {
    app: 'protected',
    requests: { cpu: '700m', memory: '1Gi' },
    graceSeconds: 60,
    annotations: { [annotations.doNotDisrupt]: 'true' },
  },
];

/** How much of the CPUs of a node pods take. */
const usedCpus = 0.95 * mostCpus;
const cpusTogether = workloads.reduce((sum, { requests }) => sum + parseQuantity(requests['cpu'] ?? '0'), 0);

/** How many pods each of the workloads has where they fill so many nodes. */
export const replicasFor = (nodes: number): number => Math.floor((nodes * usedCpus) / cpusTogether);
