import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, NodeSelectorRequirement, Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { claimLifecycle } from '../../core/conditions.js';
import type { InstanceType } from '../../core/instance-type.js';
import { admits, allocatableOf, pinnedLabels } from '../../core/launch-options.js';
import { fullName, nameOf } from '../../core/names.js';
import { lookUp } from '../../core/own.js';
import { isNodeBound } from '../../core/pods.js';
import { formatResource, type Resources } from '../../core/quantities.js';
import { overlaidIn } from '../../disruption/candidates/node-prices.js';
import type { ClusterObjects, PackingInput, Plan, PlannedClaim } from '../../packing/types.js';

const longAgo = '1970-01-01T00:00:00Z';

/** The objects once a plan is carried out: `gone` nodes are removed, its nodes run, and pods are where it puts them. */
export function carriedOut(input: PackingInput, plan: Plan, gone: ReadonlySet<string>): ClusterObjects {
  const { objects } = input;
  const taken = new Set((objects.nodes ?? []).map(nameOf));
  const { catalogues } = overlaidIn(input);
  const places = new Map<string, string>();
  for (const { node, pods } of plan.existingNodes) for (const pod of pods) places.set(pod, node);
  const launched = plan.newNodeClaims.map((planned, n) => {
    let name = `forecast-${n}`;
    while (taken.has(name)) name += '-';
    taken.add(name);
    for (const pod of planned.pods) places.set(pod, name);
    return launchedNode(input, planned, { name, types: catalogues.get(planned.nodePool) ?? [] });
  });
  const isGone = ({ nodeName = '' }: { readonly nodeName?: string }): boolean => gone.has(nodeName);
  return {
    ...objects,
    nodes: [...(objects.nodes ?? []).filter((node) => !gone.has(nameOf(node))), ...launched.map(({ node }) => node)],
    nodeClaims: [
      ...(objects.nodeClaims ?? []).filter(({ status }) => !isGone(status ?? {})),
      ...launched.map(({ claim }) => claim),
    ],
    pods: objects.pods.flatMap((pod) => {
      const place = places.get(fullName(pod));
      if (place !== undefined) return [onNode(pod, place)];
      if (!isGone(pod.spec)) return [pod];
      return isNodeBound(pod) ? [] : [onNode(pod, '')];
    }),
  };
}

function onNode(pod: Pod, nodeName: string): Pod {
  const status = nodeName === '' ? { phase: 'Pending' } : { ...pod.status, phase: 'Running' };
  return { ...pod, spec: { ...pod.spec, nodeName }, status };
}

/** A planned claim as a node that is initialized. */
function launchedNode(
  { objects }: PackingInput,
  { nodePool, cheapest, requirements, labels: chosen, requests }: PlannedClaim,
  { name, types }: { readonly name: string; readonly types: readonly InstanceType[] },
): { readonly node: Node; readonly claim: NodeClaim } {
  const template = objects.nodePools.find((pool) => nameOf(pool) === nodePool)?.spec.template;
  const own = {
    [labels.nodePool]: nodePool,
    [labels.instanceType]: cheapest.instanceType,
    [labels.zone]: cheapest.zone,
    [labels.capacityType]: cheapest.capacityType,
  };
  const type = types.find((each) => each.name === cheapest.instanceType);
  const offering = type?.offerings.find(({ requirements: asked }) =>
    asked.every(
      (each) => (each.key !== labels.zone && each.key !== labels.capacityType) || admits(each, lookUp(own, each.key)),
    ),
  );
  const pinned =
    type === undefined || offering === undefined
      ? {}
      : pinnedLabels({ type, offering }, requirements as readonly NodeSelectorRequirement[]);
  const all = { ...template?.metadata?.labels, ...pinned, ...chosen, ...own };
  const allocatable = written(type === undefined ? requests : allocatableOf(type));
  const capacity = written(type?.capacity ?? requests);
  const providerID = `forecast:///${name}`;
  const condition = (of: string) => ({
    ...{ type: of, status: 'True' as const, reason: of, message: '', lastTransitionTime: longAgo },
  });
  return {
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: { ...all, [labels.hostname]: name, [labels.registered]: 'true', [labels.initialized]: 'true' },
      },
      spec: { providerID, taints: [...(template?.spec.taints ?? [])] as NonNullable<Node['spec']>['taints'] & object },
      status: { capacity, allocatable, conditions: [condition('Ready')] },
    },
    claim: {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name, uid: name, labels: all, creationTimestamp: longAgo },
      spec: { nodeClassRef: template?.spec.nodeClassRef ?? { group: '', kind: '', name: '' }, requirements: [] },
      status: {
        ...{ nodeName: name, providerID, capacity, allocatable },
        conditions: [...claimLifecycle, 'Consolidatable'].map(condition),
      },
    } as unknown as NodeClaim,
  };
}

const written = (amounts: Resources): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatResource(name, amount)]));
