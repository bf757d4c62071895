import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { selects } from '../../core/label-selector.js';
import { isPending } from '../../core/pods.js';
import type { ActivityDeps } from '../deps.js';
import { inBatches } from '../../core/in-batches.js';
import { labelsOf } from '../../cluster/labels-of.js';
import { nominate } from './pod-nominator.js';
import type { PodNominator } from './pod-nominator.js';
import { plannedPods } from '../../cluster/planned-pods.js';
import { nominatedNode } from '../../cluster/awaited-nodes.js';

/** What is not nominated within this is left to kube-scheduler's own choice: no node is held up for it. */
const longestMs = 5000;
/** So many that fail, and the rest would too. */
const mostFailures = 5;

/**
 * Tells kube-scheduler where the plan put the pods that still pend (`status.nominatedNodeName`): it tries that node first, and
 * leaves the room to them that they need there. Without it the scheduler's scores spread pods otherwise than planned, and a
 * tight plan leaves some without a place. Harmless when it is done twice; pods that are left out are as they were before. Gives how many were nominated.
 */
export async function nominatePlanned(
  deps: ActivityDeps,
  claim: NodeClaim,
  nodeName: string,
  keeper: PodNominator,
): Promise<number> {
  if (!deps.nominatePods) return 0;
  const planned = plannedPods(claim).flatMap((key) => {
    const [namespace = '', name = ''] = key.split('/');
    return deps.cache.get('Pod', { namespace, name }) ?? [];
  });
  const eligible = planned.filter((pod) => isReleasedOnFailure(pod) && !isCrowded(pod, planned));
  keeper.keep(claim, nodeName, eligible);
  const pods = eligible.filter((pod) => isPending(pod) && nominatedNode(deps, pod) === undefined);
  const until = deps.now() + longestMs;
  let nominated = 0;
  const failures: unknown[] = [];
  const { nodePool } = labelsOf(claim);
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
  const facts = {
    nodeClaim: claim.metadata.name,
    node: nodeName,
    planned: planned.length,
    waiting: pods.length,
    nominated,
  };
  if (failures.length > 0) {
    deps.log.warn(
      { ...facts, error: String(failures[0]) },
      'cannot nominate pods to the node that is planned for them',
    );
  } else if (pods.length > 0) deps.log.debug(facts, 'nominated pods to the node that is planned for them');
  return nominated;
}

/** kube-scheduler clears the nomination of a pod that it finds no node for, unless the pod never preempts. */
function isReleasedOnFailure({ spec }: Pod): boolean {
  return spec.preemptionPolicy !== 'Never';
}

/**
 * Whether a required spread of the pod's own could be broken by those that are planned beside it. kube-scheduler counts the pods
 * nominated to the node that it looks at, but not those nominated to others: with more of them than the skew allows it
 * would turn down every one until the others have been bound.
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
