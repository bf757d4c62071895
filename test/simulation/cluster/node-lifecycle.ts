import type { Node, Taint } from '../../../api/kubernetes.js';
import { conditionOf } from '../../../core/conditions.js';
import { isOwnedBy } from '../../../core/pods.js';
import type { ClusterCache } from '../../../kube/port.js';
import type { FakeKube } from '../kube/fake.js';
import { refOf } from '../kube/fake-storage.js';

const notReady = 'node.kubernetes.io/not-ready';
const unreachable = 'node.kubernetes.io/unreachable';
/** How long pods tolerate a node that is not ready, as admission has them do, milliseconds. */
const toleratedMs = 300_000;

/** The node lifecycle controller: taints nodes that are not ready, and deletes their pods once these have borne it for long. */
export class NodeLifecycle {
  constructor(
    private readonly kube: FakeKube,
    cache: ClusterCache,
  ) {
    cache.on('Node', ({ type, object }) => {
      if (type !== 'deleted') void this.mark(object);
    });
  }

  private async mark({ metadata: { name = '' } }: Node): Promise<void> {
    const node = this.found(name);
    const wanted = node === undefined ? undefined : keyOf(node);
    const taints = node?.spec?.taints ?? [];
    const own = taints.filter(isOwn);
    const isMarked = own.length > 0 && own.every(({ key }) => key === wanted);
    if (node === undefined || isMarked || (own.length === 0 && wanted === undefined)) return;
    const others = taints.filter((taint) => !isOwn(taint));
    const marks: Taint[] =
      wanted === undefined ? [] : (['NoSchedule', 'NoExecute'] as const).map((effect) => ({ key: wanted, effect }));
    const { resourceVersion } = node.metadata;
    const patch = { metadata: { resourceVersion }, spec: { taints: [...others, ...marks] } };
    const { outcome } = await this.kube.patch('Node', { name }, patch);
    if (outcome === 'conflict') await this.mark(node);
    else if (outcome === 'patched' && marks.length > 0) setTimeout(() => this.evict(name), toleratedMs);
  }

  private evict(name: string): void {
    const node = this.found(name);
    if (node === undefined || keyOf(node) === undefined) return;
    for (const pod of this.kube.kept('Pod')) {
      if (pod.spec.nodeName === name && !isOwnedBy(pod, 'DaemonSet.apps')) void this.kube.delete('Pod', refOf(pod));
    }
  }

  private found(name: string): Node | undefined {
    return this.kube.kept('Node').find(({ metadata }) => metadata.name === name);
  }
}

/** Which taint a node is to have. */
function keyOf({ status }: Node): string | undefined {
  const ready = conditionOf(status?.conditions, 'Ready')?.status;
  return ready === 'True' ? undefined : ready === 'False' ? notReady : unreachable;
}

const isOwn = ({ key }: Taint): boolean => key === notReady || key === unreachable;
