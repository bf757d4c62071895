import { nodePools } from '../../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../../api/labels.js';
import type { KubeClient, Kinds, NewObject } from '../../../kube/port.js';
import { deploymentOf } from '../deployment.js';
import { nodeClassSpec } from '../node-class.js';
import type { Stack } from '../stack.js';

const namespace = 'default';
const spotPool = 'spot';
/** No pod keeps a node for ever. */
const terminationGracePeriod = '3m';

interface App {
  readonly cpu: string;
  /** How many replicas it is scaled to at most, and how many it has in the end. */
  readonly most: number;
  readonly last: number;
  /** What its pods ask for besides room. */
  readonly pods?: object;
  /** Whether at most one of its pods may be away at a time. */
  readonly guarded: boolean;
  /** Whether its pods forbid that they are evicted by choice. */
  readonly kept?: true;
}

/** Of each kind: always, for a reason, and in a window that is open half of the time. */
const spotBudgets = [
  { nodes: '40%' },
  { nodes: '1', reasons: ['Drifted'] },
  { nodes: '1', reasons: ['Underutilized'], schedule: '0,30 * * * *', duration: '15m' },
];

const matchLabels = (app: string): object => ({ labelSelector: { matchLabels: { app } } });

/** Deployments that want different things: room, zones, nodes of their own, and to be disturbed gently or not at all. */
export const apps: Readonly<Record<string, App>> = {
  small: { cpu: '300m', most: 24, last: 10, guarded: false },
  middle: { cpu: '1200m', most: 7, last: 4, guarded: true },
  large: { cpu: '3500m', most: 7, last: 4, guarded: true },
  kept: { cpu: '900m', most: 3, last: 2, guarded: false, kept: true },
  zonal: {
    cpu: '700m',
    most: 7,
    last: 4,
    guarded: true,
    pods: {
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule', ...matchLabels('zonal') },
      ],
    },
  },
  alone: {
    cpu: '500m',
    most: 7,
    last: 4,
    guarded: false,
    pods: {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: labels.hostname, ...matchLabels('alone') }],
        },
      },
    },
  },
};

/** The node class, a spot pool whose nodes age fast, an on-demand pool, and the deployments with two pods each. */
export async function createWorkload(kube: KubeClient, stack: Stack): Promise<void> {
  await kube.create('EC2NodeClass', {
    metadata: { name: 'default' },
    spec: nodeClassSpec(stack.cluster),
  } as unknown as NewObject<Kinds['EC2NodeClass']>);
  await createPool(kube, spotPool, {
    capacityType: 'spot',
    expireAfter: '4m',
    spec: { weight: 10, limits: { cpu: '60' }, disruption: { consolidateAfter: '5s', budgets: spotBudgets } },
  });
  await createPool(kube, 'on-demand', {
    capacityType: 'on-demand',
    expireAfter: 'Never',
    spec: { disruption: { consolidateAfter: '10s', budgets: [{ nodes: '2' }] } },
  });
  for (const [name, app] of Object.entries(apps)) await createApp(kube, name, app);
}

async function createPool(
  kube: KubeClient,
  name: string,
  { capacityType, expireAfter, spec }: { capacityType: string; expireAfter: string; spec: object },
): Promise<void> {
  const requirements = [
    { key: labels.arch, operator: 'In', values: ['amd64'] },
    { key: labels.capacityType, operator: 'In', values: [capacityType] },
  ];
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  const pool = nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: { ...spec, template: { spec: { nodeClassRef, requirements, expireAfter, terminationGracePeriod } } },
  });
  await kube.create('NodePool', { metadata: { name }, spec: pool.spec });
}

async function createApp(kube: KubeClient, name: string, { cpu, pods = {}, guarded, kept }: App): Promise<void> {
  const { metadata, spec } = deploymentOf(name, 2, { cpu, memory: '512Mi' });
  const { template } = spec;
  const podSpec = { ...template.spec, ...pods, terminationGracePeriodSeconds: 1 };
  const podMetadata =
    kept === undefined
      ? template.metadata
      : { ...template.metadata, annotations: { [annotations.doNotDisrupt]: 'true' } };
  await kube.create('Deployment', { metadata, spec: { ...spec, template: { metadata: podMetadata, spec: podSpec } } });
  if (!guarded) return;
  await kube.create('PodDisruptionBudget', {
    metadata: { name, namespace },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
  });
}

export async function scale(kube: KubeClient, name: string, replicas: number): Promise<void> {
  await kube.patch('Deployment', { name, namespace }, { spec: { replicas } });
}

/** A new release of the node class: every node has drifted. */
export async function release(kube: KubeClient, number: number): Promise<void> {
  await kube.patch('EC2NodeClass', { name: 'default' }, { spec: { tags: { release: String(number) } } });
}

/** From now on no node ends by its age. */
export async function stopAging(kube: KubeClient): Promise<void> {
  await kube.patch('NodePool', { name: spotPool }, { spec: { template: { spec: { expireAfter: 'Never' } } } });
}
