import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { messageOf } from '../../core/error-message.js';
import { selects } from '../../core/labels.js';
import { isPending } from '../../core/pods.js';
import type { ActivityDeps } from '../deps.js';
import { inBatches } from '../../core/at-once.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { nominate, type PodNominator } from './pod-nominator.js';
import { plannedPods, podsToNominate } from '../../cluster/planned-pods.js';
import { nominatedNode } from '../../cluster/awaited-nodes.js';

/** Time limit: pods that are not nominated by then are left to kube-scheduler, so that no node waits for them. */
const longestMs = 5000;
/** After this number of failures the rest is skipped. */
const mostFailures = 5;

/**
 * Nominates pending pods to their planned nodes (`status.nominatedNodeName`), if other pods could take their places
 * there and they have no other place: kube-scheduler then tries that node first, and keeps its room for them. Each
 * nomination costs kube-scheduler as much work as the pod itself. Idempotent. Returns how many pods were nominated.
 */
export async function nominatePlanned(
  deps: ActivityDeps,
  claim: NodeClaim,
  nodeName: string,
  nominator: PodNominator,
): Promise<number> {
  if (!deps.nominatePods) return 0;
  const podsOf = (keys: readonly string[]): readonly Pod[] =>
    keys.flatMap((key) => {
      const [namespace = '', name = ''] = key.split('/');
      return deps.cache.get('Pod', { namespace, name }) ?? [];
    });
  const chosen = podsToNominate(claim);
  if (chosen.length === 0) return 0;
  const planned = podsOf(plannedPods(claim));
  const eligible = podsOf(chosen).filter((pod) => isReleasedOnFailure(pod) && !isCrowded(pod, planned));
  nominator.keepNominated(claim, nodeName, eligible);
  const pods = eligible.filter((pod) => isPending(pod) && nominatedNode(deps, pod) === undefined);
  const { nominated, failures } = await nominateEach(deps, pods, { nodeName, nodePool: labelsOf(claim).nodePool });
  const facts = {
    nodeClaim: claim.metadata.name,
    node: nodeName,
    planned: planned.length,
    waiting: pods.length,
    nominated,
  };
  if (failures.length > 0) {
    deps.log.warn(
      { ...facts, error: messageOf(failures[0]) },
      'cannot nominate pods to the node that is planned for them',
    );
  } else if (pods.length > 0) deps.log.debug(facts, 'nominated pods to the node that is planned for them');
  return nominated;
}

/** Nominates the pods, within the time limit and until too many requests have failed. */
async function nominateEach(
  deps: ActivityDeps,
  pods: readonly Pod[],
  { nodeName, nodePool }: { readonly nodeName: string; readonly nodePool: string },
): Promise<{ readonly nominated: number; readonly failures: readonly unknown[] }> {
  const until = deps.now() + longestMs;
  let nominated = 0;
  const failures: unknown[] = [];
  await inBatches(
    pods,
    async (pod) => {
      const outcome = await nominate(deps, pod, nodeName).catch((error: unknown) => {
        failures.push(error);
        return 'failed' as const;
      });
      if (outcome === 'nominated') nominated += 1;
      deps.metrics.count('stowage_pod_nominations_total', { nodepool: nodePool, outcome });
    },
    { enough: () => failures.length >= mostFailures || deps.now() >= until },
  );
  return { nominated, failures };
}

/** kube-scheduler clears the nomination of a pod that it finds no node for, unless the pod never preempts. */
function isReleasedOnFailure({ spec }: Pod): boolean {
  return spec.preemptionPolicy !== 'Never';
}

/**
 * Whether pods planned together could break a required spread of this pod. kube-scheduler counts pods nominated to the
 * node that it examines, but not those nominated to other nodes: with more of them than the skew allows it would reject
 * each one until the others are bound.
 */
function isCrowded(pod: Pod, planned: readonly Pod[]): boolean {
  const { namespace } = pod.metadata;
  return (pod.spec.topologySpreadConstraints ?? []).some(({ whenUnsatisfiable, labelSelector, maxSkew }) => {
    if (whenUnsatisfiable !== 'DoNotSchedule') return false;
    const beside = planned.filter(
      ({ metadata }) => metadata.namespace === namespace && selects(labelSelector, metadata.labels),
    );
    return beside.length > maxSkew;
  });
}
