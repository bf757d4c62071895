import { annotations } from '../../api/labels.js';
import { parseDuration } from '../../core/durations.js';
import type { Pod } from '../../api/kubernetes.js';
import type { KubeClient } from '../../kube/port.js';
import type { FakeKube } from '../kube/fake.js';

/**
 * The API server as Stowage's processes reach it, which tells when one of them ends a pod that must not be disrupted before its
 * node's deadline (invariants/protection-holds).
 */
export function overseen(kube: FakeKube, broken: (problem: string) => void): KubeClient {
  const watch = (ref: { readonly name: string; readonly namespace?: string }, isEviction: boolean): void => {
    const pod = kube
      .objects('Pod')
      .find(({ metadata }) => metadata.name === ref.name && metadata.namespace === ref.namespace);
    if (pod === undefined || pod.metadata.annotations?.[annotations.doNotDisrupt] !== 'true') return;
    const deadline = deadlineOf(kube, pod);
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000;
    if (Date.now() >= deadline - graceMs) return;
    broken(`pod ${ref.name} was ${isEviction ? 'evicted' : 'deleted'} before its time (invariants/protection-holds)`);
  };
  return {
    ...kube,
    evict: (pod) => {
      watch(pod, true);
      return kube.evict(pod);
    },
    delete: (kind, ref, options) => {
      if (kind === 'Pod') watch(ref, false);
      return kube.delete(kind, ref, options);
    },
  };
}

/** When the node of a pod may be emptied whatever runs there, milliseconds of the epoch; never for one that stays. */
function deadlineOf(kube: FakeKube, { spec }: Pod): number {
  const claim = kube.objects('NodeClaim').find(({ status }) => status?.nodeName === spec.nodeName);
  const deleted = claim?.metadata.deletionTimestamp;
  if (claim === undefined || deleted === undefined) return Number.POSITIVE_INFINITY;
  const grace = claim.spec.terminationGracePeriod;
  return grace === undefined ? Number.POSITIVE_INFINITY : Date.parse(deleted) + parseDuration(grace);
}
