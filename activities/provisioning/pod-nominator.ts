import { messageOf } from '../../core/error-message.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { isTrue } from '../../core/conditions.js';
import { isPending } from '../../core/pods.js';
import type { ActivityDeps } from '../deps.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { fullName } from '../../core/names.js';

/**
 * The most nominations of a pod: kube-scheduler tries a pod at most every ten seconds after some failures, and a node
 * has 15 minutes to come up.
 */
const mostTimes = 30;

interface Nomination {
  readonly uid: string | undefined;
  readonly claim: NodeClaim;
  readonly nodeName: string;
  left: number;
  busy: boolean;
}

/**
 * Keeps pods nominated while their node starts. Whenever another node is initialized, kube-scheduler tries all pending
 * pods, and clears the nomination of those whose node is not ready; others could then take their room. So they are
 * nominated again at once, until they are bound, their node is initialized or the NodeClaim is deleted. The state is
 * kept in one process only; the next sync of the node nominates again.
 */
export class PodNominator {
  private readonly nominations = new Map<string, Nomination>();
  private subscription: (() => void) | undefined;

  constructor(private readonly deps: ActivityDeps) {}

  keepNominated(claim: NodeClaim, nodeName: string, pods: readonly Pod[]): void {
    for (const [key, { claim: other }] of this.nominations) if (!this.isComing(other)) this.nominations.delete(key);
    for (const pod of pods) {
      if (!isPending(pod)) continue;
      const left = this.nominations.get(fullName(pod))?.left ?? mostTimes;
      this.nominations.set(fullName(pod), { uid: pod.metadata.uid, claim, nodeName, left, busy: false });
    }
    if (this.nominations.size > 0)
      this.subscription ??= this.deps.cache.on('Pod', ({ type, object }) => this.onPod(type, object));
    else this.unsubscribe();
  }

  private isComing({ metadata: { name = '', uid } }: NodeClaim): boolean {
    const live = this.deps.cache.get('NodeClaim', { name });
    if (live?.metadata.uid !== uid || live?.metadata.deletionTimestamp !== undefined) return false;
    return !isTrue(live?.status?.conditions, 'Initialized');
  }

  private onPod(type: 'added' | 'modified' | 'deleted', pod: Pod): void {
    const key = fullName(pod);
    const kept = this.nominations.get(key);
    if (kept === undefined) return;
    const over = type === 'deleted' || pod.metadata.uid !== kept.uid || !isPending(pod) || !this.isComing(kept.claim);
    if (over || kept.left === 0) {
      this.nominations.delete(key);
      if (this.nominations.size === 0) this.unsubscribe();
    } else if ((pod.status?.nominatedNodeName ?? '') === '' && !kept.busy) void this.renominate(kept, pod);
  }

  private async renominate(kept: Nomination, pod: Pod): Promise<void> {
    kept.busy = true;
    kept.left -= 1;
    const { deps } = this;
    const { namespace = '', name = '' } = pod.metadata;
    const { nodePool } = labelsOf(kept.claim);
    try {
      let outcome = await nominate(deps, pod, kept.nodeName);
      if (outcome === 'changed') {
        const live = await deps.kube.get('Pod', { namespace, name });
        const cleared = live?.metadata.uid === kept.uid && (live?.status?.nominatedNodeName ?? '') === '';
        if (live !== undefined && cleared && isPending(live)) outcome = await nominate(deps, live, kept.nodeName);
      }
      deps.metrics.count('stowage_pod_nominations_total', { nodepool: nodePool, outcome });
    } catch (error) {
      deps.metrics.count('stowage_pod_nominations_total', { nodepool: nodePool, outcome: 'failed' });
      deps.log.debug(
        { pod: fullName(pod), node: kept.nodeName, error: messageOf(error) },
        'cannot nominate a pod again',
      );
    } finally {
      kept.busy = false;
    }
  }

  private unsubscribe(): void {
    this.subscription?.();
    this.subscription = undefined;
  }
}

/**
 * Writes only over the version that was read: if the pod was changed meanwhile, for example bound, the nomination is
 * outdated.
 */
export async function nominate(
  deps: ActivityDeps,
  { metadata }: Pod,
  nodeName: string,
): Promise<'nominated' | 'changed'> {
  const { name = '', namespace = '', uid, resourceVersion } = metadata;
  const { outcome } = await deps.kube.patch(
    'Pod',
    { namespace, name },
    { metadata: { uid, resourceVersion }, status: { nominatedNodeName: nodeName } },
    { subresource: 'status' },
  );
  return outcome === 'patched' ? 'nominated' : 'changed';
}
