import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { type CompiledNode as PackedNode, coverageOf, offeringLabelsOf, viewNodes } from '../../packing/trial.js';
import { type CandidateContext, disruptionCost, type NodeView, whyNotCandidate } from '../candidates/candidates.js';
import { countedByBudgets } from '../budgets/pool-counts.js';
import { isEmpty } from './emptiness.js';
import { settlesAt, whyNotConsolidatable } from './consolidatable.js';
import { isReschedulable } from '../../core/pods.js';
import { NodePrices } from '../candidates/node-prices.js';
import type { ConsolidationInput } from './types.js';
import { fullName, isDeleting, nameOf } from '../../core/names.js';

/** A node as consolidation sees it, before packing is involved. */
export interface ExaminedNode {
  readonly view: PackedNode;
  readonly name: string;
  readonly pool: NodePool | undefined;
  readonly pods: readonly Pod[];
  /** Dollars per hour; 0 when unknown. */
  readonly price: number;
  /** Pods that need another node if this one is removed. */
  readonly movable: readonly Pod[];
  /** RescheduleDisruptionCost (disruption-cost/of-a-node). */
  readonly cost: number;
  /** Why it may not be disrupted, in words; undefined if it may. */
  readonly why: string | undefined;
  /**
   * Whether pods may be moved to it: it is initialized and its NodePool's consolidateAfter has passed
   * (consolidation/consolidate-after), or it was launched for them (commands/validation).
   */
  readonly open: boolean;
  /** How budgets count it (budgets/counted-nodes). */
  readonly counted: 'no' | 'running' | 'disrupting';
}

/**
 * All nodes of the cluster, with why consolidation may not disrupt them (candidates/disruptable-nodes,
 * consolidation/eligible-nodes).
 */
export function examineNodes(input: ConsolidationInput): ExaminedNode[] {
  const { objects, now, consolidatableBy = now } = input;
  const prices = new NodePrices(input.catalogues, objects, coverageOf(input).nodes);
  const pools = new Map(objects.nodePools.map((pool) => [nameOf(pool), pool]));
  const podsOf = podsByNode(objects.pods);
  const context: CandidateContext = {
    now,
    claimed: input.claimed ?? new Set(),
    nominated: input.nominated ?? new Set(),
    podDisruptionBudgets: objects.podDisruptionBudgets ?? [],
  };
  return viewNodes(objects, input.withoutNodes).map((view) => {
    const pods = podsOf.get(view.name) ?? [];
    const own = offeringLabelsOf(view);
    const pool = pools.get(own[labels.nodePool] ?? '');
    const price = prices.of(own, view.name);
    const movable = pods.filter(isReschedulable);
    const cost = disruptionCost(pods);
    const claim = view.claim;
    let why: string | undefined = 'it has no NodeClaim';
    if (claim !== undefined) {
      const candidate: NodeView = { claim, node: view.node, pool, pods, pricePerHour: price ?? 0 };
      why =
        input.kept?.get(view.name) ??
        whyNotCandidate(candidate, context) ??
        whyNotConsolidatable(candidate, consolidatableBy) ??
        (isEmpty({ pods }) ? undefined : whyKept(view, pool, price)) ??
        whyComingBack(movable);
    }
    return {
      view,
      name: view.name,
      pool,
      pods,
      price: price ?? 0,
      movable,
      cost,
      why,
      open: isOpen(view, pool, { launched: input.launched, consolidatableBy }),
      counted: countedAs(view, context),
    };
  });
}

function isOpen(
  { claim, initialized }: PackedNode,
  pool: NodePool | undefined,
  {
    launched,
    consolidatableBy,
  }: { readonly launched: ConsolidationInput['launched']; readonly consolidatableBy: number },
): boolean {
  if (claim === undefined) return initialized;
  if (launched?.has(nameOf(claim)) === true) return true;
  return initialized && settlesAt({ claim, pool }) <= consolidatableBy;
}

export const nodePoolOf = ({ view }: ExaminedNode): string => offeringLabelsOf(view)[labels.nodePool] ?? '';

/** Pods that are on nodes, by node, sorted by name. */
export function podsByNode(pods: readonly Pod[]): Map<string, Pod[]> {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const { nodeName = '' } = pod.spec;
    if (nodeName === '') continue;
    const there = byNode.get(nodeName);
    if (there === undefined) byNode.set(nodeName, [pod]);
    else there.push(pod);
  }
  for (const there of byNode.values()) there.sort(byPodName);
  return byNode;
}

/** Sorts by name, so that the order of the input does not matter. */
function byPodName({ metadata: a }: Pod, { metadata: b }: Pod): number {
  return compareText(a.name ?? '', b.name ?? '') || compareText(a.namespace ?? '', b.namespace ?? '');
}

/** Why a node that is not empty (consolidation/empty-nodes) may not be disrupted. */
function whyKept(
  { labels: own }: PackedNode,
  pool: NodePool | undefined,
  price: number | undefined,
): string | undefined {
  if (pool?.spec.disruption.consolidationPolicy === 'WhenEmpty') {
    return 'it is not empty, and its NodePool has consolidationPolicy: WhenEmpty';
  }
  for (const key of [labels.instanceType, labels.zone, labels.capacityType]) {
    if (own[key] === undefined) return `it has no label ${key}`;
  }
  return price === undefined ? 'the catalogue has no price for it' : undefined;
}

function whyComingBack(movable: readonly Pod[]): string | undefined {
  const terminating = movable.find(isDeleting);
  return terminating === undefined ? undefined : `pod ${fullName(terminating)} is terminating and will come back`;
}

function countedAs({ claim, node }: PackedNode, { claimed }: CandidateContext): ExaminedNode['counted'] {
  return claim === undefined ? 'no' : countedByBudgets({ claim, node }, claimed);
}
