import { annotations, taints } from '../../../api/labels.js';
import type { Check } from '../conformance-case.js';
import { deleteNode, podOn, runningNode } from './nodes.js';
import { running, second, type Running } from './stage.js';

export const protectedPod = { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } };
export const tolerating = (operator: string): object => ({
  spec: { tolerations: [{ key: taints.disrupted.key, operator, effect: 'NoSchedule' }] },
});
export const critical = { spec: { priorityClassName: 'system-node-critical' } };
export const ofDaemonSet = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'ds', controller: true }],
};

/** A node that holds `pods`: it is deleted, and the result examined. */
export function drains(
  pods: Readonly<Record<string, Parameters<typeof podOn>[2]>>,
  expected: unknown,
  result: (it: Running) => Promise<unknown>,
  options: Parameters<typeof runningNode>[2] = {},
): Check {
  return running(expected, async (it) => {
    runningNode(it, 'n1', options);
    for (const [name, more] of Object.entries(pods)) podOn(it, name, more);
    await it.pass(second);
    await deleteNode(it);
    return result(it);
  });
}

/** A budget of an app that allows so many disruptions. */
export const budgetOf = (it: Running, app: string, disruptionsAllowed: number, name = app): void =>
  void it.kube.put('PodDisruptionBudget', {
    metadata: { name, namespace: 'default', generation: 1 },
    spec: { selector: { matchLabels: { app } }, maxUnavailable: disruptionsAllowed },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, observedGeneration: 1 },
  });

/** A time so long after now, as annotations have it. */
export const deadline = (it: Running, afterMs: number): string =>
  new Date(it.now() + afterMs).toISOString().replace('.000', '');
