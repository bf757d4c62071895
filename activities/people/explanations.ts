import type { ActivityDeps } from '../deps.js';
import { withFailures } from '../to-failure.js';
import type { NodeExplanationActivities, PodExplanationActivities } from './contract.js';
import { explainNode } from './explain-node.js';
import { explainPod } from './explain-pod.js';

/** `stowage why` for nodes. */
export function createNodeExplanationActivities(deps: ActivityDeps): NodeExplanationActivities {
  return withFailures<NodeExplanationActivities>({ explainNode: (input) => explainNode(deps, input) });
}

/** `stowage why` for pods, which plans and so belongs to the packing queue. */
export function createPodExplanationActivities(deps: ActivityDeps): PodExplanationActivities {
  return withFailures<PodExplanationActivities>({ explainPod: (input) => explainPod(deps, input) });
}
