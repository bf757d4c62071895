import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { annotations, labels } from '../../../api/labels.js';
import { claimRefusalsOn } from '../../../core/refusals.js';
import { conditionOf, isTrue } from '../../../core/conditions.js';
import { parseWorkflowId } from '../../../core/ids.js';
import { isOwnedBy } from '../../../core/pods.js';
import type { FakeKube } from '../kube/fake.js';
import type { SimulatedTemporal } from '../temporal/engine.js';

/** Workflows that live on while nothing happens: entities, timers of nodes, and what measures afterwards. */
const lasting: ReadonlySet<string> = new Set(['provision', 'disrupt', 'replicas', 'offerings', 'expire', 'savings']);

/**
 * What ended work has left on a cluster at rest: conditions, annotations and taints of disruptions, nodes without a need,
 * and workflows whose object is gone.
 */
export function* leftovers(kube: FakeKube, temporal: SimulatedTemporal): Iterable<string> {
  for (const claim of kube.kept('NodeClaim')) yield* ofClaim(claim);
  yield* ofNodes(kube);
  yield* ofPools(kube);
  for (const { id, isOpen } of temporal.all) {
    const { kind = id } = parseWorkflowId(id) ?? {};
    if (isOpen && !lasting.has(kind)) yield `workflow ${id} still runs`;
  }
}

function* ofClaim({ metadata, status }: NodeClaim): Iterable<string> {
  const name = metadata.name ?? '';
  for (const type of ['DisruptionReason', 'Drifted', 'InstanceTerminating']) {
    if (isTrue(status?.conditions, type)) yield `NodeClaim ${name} still says ${type}`;
  }
  if (metadata.annotations?.[annotations.disruptionOwner] !== undefined) yield `NodeClaim ${name} still has an owner of its disruption`; // prettier-ignore
}

/** Of a NodePool that consolidates no node is without pods, and none keeps the soft taint of steering. */
function* ofNodes(kube: FakeKube): Iterable<string> {
  const used = new Set(
    kube
      .kept('Pod')
      .filter((pod) => !isOwnedBy(pod, 'DaemonSet.apps'))
      .map(({ spec }) => spec.nodeName),
  );
  const consolidated = new Set(
    kube
      .kept('NodePool')
      .filter(({ spec }) => spec.replicas === undefined)
      .map(({ metadata }) => metadata.name),
  );
  for (const { metadata, spec } of kube.kept('Node')) {
    const name = metadata.name ?? '';
    if (consolidated.has(metadata.labels?.[labels.nodePool]) && !used.has(name)) yield `node ${name} has no pods`;
    const own = ownTaints(kube, name);
    const left = (spec?.taints ?? []).filter(({ key }) => !own.has(key));
    if (left.length > 0) yield `node ${name} still has taints: ${JSON.stringify(left)}`;
  }
}

/** The keys of taints that a node has from its NodeClaim. */
function ownTaints(kube: FakeKube, nodeName: string): ReadonlySet<string> {
  const claim = kube.kept('NodeClaim').find(({ status }) => status?.nodeName === nodeName);
  return new Set((claim?.spec.taints ?? []).map(({ key }) => key));
}

/** Conditions that a NodePool has for as long as something keeps it from getting nodes, or its budgets from having an effect. */
const hindrances = ['PodsPlanned', 'NodeClaimsAccepted', 'InstanceTypesAvailable', 'BudgetsEffective'];

/** NodePools count the nodes that they have, and nothing keeps them from getting more. */
function* ofPools(kube: FakeKube): Iterable<string> {
  const claims = kube.kept('NodeClaim');
  for (const { metadata, status } of kube.kept('NodePool')) {
    const name = metadata.name ?? '';
    const { conditions, resources = {} } = status ?? {};
    for (const type of hindrances) {
      if (conditionOf(conditions, type) !== undefined) yield `NodePool ${name} still says ${type}`;
    }
    if (!isTrue(conditions, 'Ready')) yield `NodePool ${name} is not Ready`;
    if (claimRefusalsOn({ metadata }, 0).length > 0) yield `NodePool ${name} still rests`;
    const own = claims.filter((claim) => claim.metadata.labels?.[labels.nodePool] === name).length;
    const counted = resources['nodes'] ?? '0';
    if (Number(counted) !== own) yield `NodePool ${name} counts ${counted} nodes and has ${own}`;
  }
}
