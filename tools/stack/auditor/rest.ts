import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { taints } from '../../../api/labels.js';
import type { Node, Pod } from '../../../api/kubernetes.js';
import { isDeletingNode } from '../../../cluster/cluster.js';
import { isTrue } from '../../../core/conditions.js';
import type { KubeClient } from '../../../kube/port.js';
import type { CloudProxyControl } from '../cloud-proxy/control.js';
import { nameOf } from '../../../core/names.js';

interface Inventory {
  readonly pods: readonly Pod[];
  /** How many pods Deployments ask for. */
  readonly wanted: number;
  readonly nodes: readonly Node[];
  readonly claims: readonly NodeClaim[];
  /** Ids of those that exist as machines. */
  readonly instances: readonly string[];
}

async function inventory(kube: KubeClient, cloud: CloudProxyControl): Promise<Inventory> {
  const deployments = await kube.list('Deployment', { namespace: 'default' });
  return {
    pods: await kube.list('Pod', { namespace: 'default' }),
    wanted: deployments.reduce((sum, { spec }) => sum + (spec.replicas ?? 1), 0),
    nodes: await kube.list('Node'),
    claims: await kube.list('NodeClaim'),
    instances: (await cloud.instances())
      .filter(({ state }) => state !== 'terminated')
      .map(({ id }) => id)
      .sort(),
  };
}

const isSettled = ({ metadata, status }: Pod): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;

/** What keeps a cluster from being at rest (invariants/eventually-stable); undefined when nothing does. */
export async function unrestOf(kube: KubeClient, cloud: CloudProxyControl): Promise<string | undefined> {
  const { pods, wanted, nodes, claims, instances } = await inventory(kube, cloud);
  const waiting = pods.filter((pod) => !isSettled(pod)).map(nameOf);
  if (pods.length !== wanted || waiting.length > 0)
    return `${pods.length} pods where ${wanted} are wanted, not at rest: ${waiting.join(', ')}`;
  const going = nodes.filter((node) => isDeletingNode(node) || isTainted(node)).map(nameOf);
  if (going.length > 0) return `nodes on their way out: ${going.join(', ')}`;
  const unfinished = claims
    .filter(
      ({ metadata, status }) => metadata.deletionTimestamp !== undefined || !isTrue(status?.conditions, 'Initialized'),
    )
    .map(nameOf);
  if (unfinished.length > 0) return `NodeClaims that are half done: ${unfinished.join(', ')}`;
  const claimed = claims.map(({ status }) => status?.providerID?.split('/').at(-1) ?? '').sort();
  if (claimed.join() === instances.join() && nodes.length === claims.length) return undefined;
  return `${nodes.length} nodes, claims of ${claimed.join(', ')}, instances ${instances.join(', ')}`;
}

const isTainted = ({ spec }: Node): boolean => spec?.taints?.some(({ key }) => key === taints.disrupted.key) ?? false;
