import type { Pod } from '../../../api/kubernetes.js';
import { poolKey } from '../catalogue.js';
import { type Cluster, isProvisionable } from '../cluster.js';
import { podKey } from '../pods.js';
import type { PlanJson, Violation } from '../types.js';

/** Every pod that waits for a node is placed once or reported once; nothing else is moved. */
export function checkAccounting(cluster: Cluster, plan: PlanJson, movable: ReadonlySet<string>): Violation[] {
  const violations: Violation[] = [];
  const seen = new Map<string, string>();
  const take = (pod: string, where: string): void => {
    const before = seen.get(pod);
    if (before !== undefined) {
      violations.push({ rule: 'duplicate-pod', node: where, pod, message: `${pod} is on ${before} and on ${where}` });
    }
    seen.set(pod, where);
    const found = cluster.pods.get(pod);
    if (found === undefined || !(isProvisionable(found) || movable.has(pod))) {
      violations.push({ rule: 'unknown-pod', node: where, pod, message: `${pod} is no pod that waits for a node` });
    }
  };
  plan.newNodeClaims.forEach((claim, i) => claim.pods.forEach((pod) => take(pod, `claim-${i}`)));
  for (const entry of plan.existingNodes) entry.pods.forEach((pod) => take(pod, entry.node));
  for (const entry of plan.unschedulable) take(entry.pod, 'unschedulable');
  for (const pod of plan.ignored ?? []) {
    take(pod, 'ignored');
    if (asksForOthers(cluster.pods.get(pod))) continue;
    violations.push({ rule: 'missing-pod', pod, message: `${pod} is ignored, though a node of a NodePool may do` });
  }
  for (const pod of cluster.pods.values()) {
    const key = podKey(pod);
    if (isProvisionable(pod) && !seen.has(key)) {
      violations.push({ rule: 'missing-pod', pod: key, message: `${key} is neither placed nor reported` });
    }
  }
  return violations;
}

/** Whether every node that the pod may use is of no NodePool. */
function asksForOthers(pod: Pod | undefined): boolean {
  const terms =
    pod?.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const refused = terms.filter(({ matchExpressions = [] }) =>
    matchExpressions.some(({ key, operator }) => key === poolKey && operator === 'DoesNotExist'),
  );
  return terms.length > 0 && refused.length === terms.length;
}
