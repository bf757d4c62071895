import type { Node, Taint } from '../../../api/kubernetes.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { labels, taints } from '../../../api/labels.js';
import { nodeClaim } from '../../builders/activity-world.js';
import { said } from './nodes.js';
import { running, second, type Running } from './stage.js';
import type { Check } from '../conformance-case.js';

interface ClaimOptions {
  readonly metadata?: Partial<NodeClaim['metadata']>;
  readonly spec?: object;
}

/** Of a node class that another provider serves. */
export const foreign = { nodeClassRef: { group: 'example.com', kind: 'OtherNodeClass', name: 'default' } };

/** By the NodePool that owns its claims. */
export const owned = {
  ownerReferences: [
    { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'default', uid: 'pool-default', blockOwnerDeletion: true },
  ],
};

/** Creates NodeClaim `c1`, and advances by a second less than a minute. */
export async function ask(
  it: Running,
  { metadata, spec }: ClaimOptions = {},
  name = 'c1',
  afterMs = 30 * second,
): Promise<void> {
  const made = nodeClaim(name, { spec: spec ?? {} });
  it.kube.put('NodeClaim', {
    ...made,
    metadata: {
      ...{ ...made.metadata, creationTimestamp: new Date(it.now()).toISOString().replace('.000', ''), generation: 1 },
      ...metadata,
      labels: { ...made.metadata.labels, ...metadata?.labels },
    },
  });
  await it.pass(afterMs);
}

export const claimOf = (it: Running, name = 'c1'): NodeClaim | undefined => it.get('NodeClaim', name);
export const providerOf = (it: Running, name = 'c1'): string => claimOf(it, name)?.status?.providerID ?? '';

interface JoinOptions {
  readonly name?: string;
  readonly metadata?: object;
  readonly taints?: readonly Taint[];
  readonly isReady?: boolean;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly afterMs?: number;
}

/** The taint of nodes whose kubelet is not ready yet. */
export const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
export const usual = { cpu: '4', memory: '15Gi', pods: '58' };

/** The kubelet of its instance registers: Node `n1`. */
export async function join(it: Running, options: JoinOptions = {}, claim = 'c1'): Promise<void> {
  const { name = 'n1', isReady = true } = options;
  it.kube.put('Node', {
    metadata: { name, labels: { [labels.hostname]: name }, ...options.metadata },
    spec: { providerID: providerOf(it, claim), taints: [...(options.taints ?? [{ ...taints.unregistered }])] },
    status: {
      capacity: options.allocatable ?? usual,
      allocatable: options.allocatable ?? usual,
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  });
  await it.pass(options.afterMs ?? 10 * second);
}

/** A claim is requested, its node joins, and the node is examined. */
export const joins = (
  expected: unknown,
  result: (node: Node, it: Running) => unknown,
  claim: ClaimOptions = {},
  node: JoinOptions = {},
): Check =>
  running(expected, async (it) => {
    await ask(it, claim);
    await join(it, node);
    return result(it.get('Node', node.name ?? 'n1')!, it);
  });

/** Registered and Initialized of the claim, by their status. */
export const states = (it: Running): string =>
  ['Registered', 'Initialized'].map((type) => said(it, type, 'c1').split('/')[0]).join('/');

/** Patches the Node as another client. */
export async function change(it: Running, patch: object, name = 'n1'): Promise<void> {
  await it.kube.patch('Node', { name }, patch);
  await it.pass(10 * second);
}

export const healthOf = (it: Running): string | undefined =>
  it.get('NodePool', 'default')?.status?.conditions?.find(({ type }) => type === 'NodeRegistrationHealthy')?.status;
