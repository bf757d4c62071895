import { deploymentOf } from '../../tools/stack/deployment.js';
import { apply } from '../live/kubectl.js';
import { createNodePool, type LiveWorld } from '../live/world.js';

/** A NodePool of that name, and a Deployment of one pod that asks for a node of it. */
export interface Situation {
  readonly name: string;
  readonly requirements?: readonly object[];
  /** Of the NodePool. */
  readonly disruption?: object;
  readonly limits?: object;
  /** Of the pod. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
  /** What is said of the pod or of the node, everywhere. */
  readonly says: RegExp;
}

const onDemand = { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] };
const types = (...values: string[]): object => ({ key: 'node.kubernetes.io/instance-type', operator: 'In', values });
const small = { cpu: '500m', memory: '512Mi' };
const large = 'm5.2xlarge';

const never = { consolidateAfter: 'Never' };
const dear = {
  requirements: [onDemand, types(large)],
  disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
};

/** Pods that find no place. */
export const unplaced: readonly Situation[] = [
  {
    ...{ name: 'gpu', disruption: never, requests: { ...small, 'nvidia.com/gpu': '1' } },
    requirements: [{ key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] }],
    says: /gpu: no instance type that the pod may use has nvidia\.com\/gpu \(karpenter\.k8s\.aws\/instance-category In \[c m r\] leaves \d+ out that have it\)/,
  },
  {
    ...{ name: 'sold-out', disruption: never, requirements: [onDemand, types('c5.large')] },
    says: /sold-out: c5\.large in us-west-2\w has no on-demand capacity: InsufficientInstanceCapacity/,
  },
  {
    ...{ name: 'limited', disruption: never, requirements: [onDemand, types('m5.large')], limits: { cpu: '1' } },
    says: /limited: the limits of the NodePool leave no room for another node \(cpu: 1 left, 2 needed\)/,
  },
  {
    ...{ name: 'typo', disruption: never, nodeSelector: { 'topologi.kubernetes.io/zone': 'us-west-2a' } },
    says: /typo: label topologi\.kubernetes\.io\/zone is not known here \(did you mean topology\.kubernetes\.io\/zone\?\)/,
  },
];

/** Nodes that stay. */
export const staying: readonly Situation[] = [
  {
    ...{ ...dear, name: 'closed', disruption: { consolidateAfter: '0s', budgets: [{ nodes: '0' }] } },
    says: /^budget 0 allows no more for Underutilized$/,
  },
  { ...dear, name: 'guarded', says: /^PodDisruptionBudget default\/guarded forbids evicting pod default\/guarded-/ },
  {
    ...{ ...dear, name: 'marked', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
    says: /^pod default\/marked-\S+ is marked do-not-disrupt$/,
  },
  { ...dear, name: 'held', says: /^NodePool held is paused by .* for ann: release day$/ },
  {
    ...{ ...dear, name: 'cheapest', requirements: [onDemand, types('m5.large')] },
    says: /^there is no cheaper place for its pods$/,
  },
  { ...dear, name: 'moved', says: /^pods were moved to it a while ago, and coolDown holds until \S+Z$/ },
  {
    ...{ ...dear, name: 'asked', disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1' }] } },
    says: /^\S+\/consolidate\/\S+ waits for approval of its disruption \(Underutilized\), decided at \S+Z$/,
  },
];

const cheaperLater = { ...dear, disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1' }] } };

/** Nodes that await approval or whose drain is blocked, beside the others; bad-orders.ts gives orders about them. */
export const others: readonly Omit<Situation, 'says'>[] = [
  { ...cheaperLater, name: 'refused' },
  { ...cheaperLater, name: 'withdrawn' },
  { ...cheaperLater, name: 'agreed' },
  { ...dear, name: 'escalated' },
];

/** No instance type suits them, and nothing else is wrong with them. */
export const hopeless: Readonly<Record<string, readonly object[]>> = {
  z9: [{ key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['z9'] }],
  nothing: [onDemand, { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
};

const budget = (name: string): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
});

const policy = (name: string, spec: object): object => ({
  apiVersion: 'stowage.dev/v1alpha1',
  kind: 'DisruptionPolicy',
  metadata: { name },
  spec: { nodePoolSelector: { matchLabels: { policy: name } }, ...spec },
});

/** What rules them besides: PodDisruptionBudgets and policies. */
const rules = [
  policy('moved', { coolDown: '1h' }),
  policy('asked', { approval: [{ reasons: ['Underutilized'], timeout: '1h' }] }),
  policy('escalated', {
    drainEscalation: [
      { after: '1s', action: 'Notify' },
      { after: '5s', action: 'AskApproval' },
      { after: '1h', action: 'Force' },
    ],
  }),
  budget('guarded'),
  budget('escalated'),
];

/** Makes all of them, but for what happens once the nodes are there. */
export async function createSituations(world: LiveWorld): Promise<void> {
  await world.cloud.setPools([{ instanceType: 'c5.large' }]);
  await apply(world.stack, rules);
  await Promise.all([
    ...[...staying, ...unplaced, ...others].map((situation) => create(world, situation)),
    ...Object.entries(hopeless).map(([name, requirements]) =>
      createNodePool(world, name, { template: { requirements }, spec: {} }),
    ),
  ]);
}

async function create(world: LiveWorld, situation: Omit<Situation, 'says'>): Promise<void> {
  const { name, requirements = [], disruption = {}, limits, annotations = {}, requests = small } = situation;
  await createNodePool(world, name, {
    template: { requirements },
    spec: { disruption, ...(limits === undefined ? {} : { limits }) },
  });
  const nodeSelector = { 'karpenter.sh/nodepool': name, ...situation.nodeSelector };
  const { metadata, spec } = deploymentOf(name, 1, { ...requests });
  const { template, ...rest } = spec as { template: { metadata: object; spec: { containers: readonly object[] } } };
  // Of what cannot be shared Kubernetes asks for a limit.
  const [container] = template.spec.containers;
  const containers = [{ ...container, resources: { requests, limits: requests } }];
  const pod = {
    metadata: { ...template.metadata, annotations },
    spec: { ...template.spec, containers, nodeSelector },
  };
  await apply(world.stack, [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { ...rest, template: pod } }]);
}

/** The NodePool may launch something cheaper from now on, and its policy rules it. */
export const allowCheaper = ({ kube }: LiveWorld, name: string, policy = name): Promise<unknown> =>
  kube.patch(
    'NodePool',
    { name },
    {
      metadata: { labels: { policy } },
      spec: { template: { spec: { requirements: [onDemand, types(large, 'm5.large')] } } },
    },
  );

/** What makes the nodes of the NodePool drift. */
export const changeTemplate = ({ kube }: LiveWorld, name: string): Promise<unknown> =>
  kube.patch('NodePool', { name }, { spec: { template: { metadata: { labels: { release: 'two' } } } } });
