import { podsWithRelaxedPreferences } from '../../packing/output/relaxed-pods.js';
import type { Plan, PlannedClaim, RelaxedPod, Unschedulable } from '../../packing/types.js';
import { excludedObjectsText } from './excluded-objects.js';
import { onOneLine, listedNames, counted, verb } from '../../core/text.js';
import { hourly, renderTable } from './table.js';
import type { Frontier, FrontierPoint } from '../bound/frontier.js';

const shownReasons = 20;

/**
 * A plan as text: what to launch, where pods go, which pods stay pending and why, and how close the price is to the
 * lower bound.
 */
export function planText(given: Plan, solveMs: number): string {
  const plan = onOneLine(given);
  const sections = [
    launches(plan.newNodeClaims),
    existing(plan.existingNodes),
    pending(plan.unschedulable),
    deferred(plan.deferred ?? []),
    otherSchedulers(plan.ignored ?? []),
    gated(plan.gated ?? []),
    ignored(plan.ignoredPreferences ?? []),
    relaxed(podsWithRelaxedPreferences(plan)),
    excludedObjectsText(plan.setAside),
    total(plan, solveMs),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function launches(claims: readonly PlannedClaim[]): string {
  if (claims.length === 0) return '';
  const groups = new Map<string, { claim: PlannedClaim; nodes: number; pods: number }>();
  for (const claim of claims) {
    const { instanceType, zone, capacityType, commitment } = claim.cheapest;
    const key = [claim.nodePool, instanceType, zone, capacityType, commitment, claim.instanceTypes.length].join('|');
    const group = groups.get(key) ?? { claim, nodes: 0, pods: 0 };
    groups.set(key, { ...group, nodes: group.nodes + 1, pods: group.pods + claim.pods.length });
  }
  const rows = [...groups.values()].map(({ claim, nodes, pods }) => [
    nodes,
    claim.nodePool,
    claim.cheapest.instanceType,
    claim.cheapest.zone,
    paidBy(claim.cheapest),
    hourly(claim.cheapest.pricePerHour * nodes),
    pods,
    claim.instanceTypes.length - 1,
  ]);
  return `Nodes to launch\n${renderTable(['NODES', 'NODEPOOL', 'CHEAPEST TYPE', 'ZONE', 'CAPACITY', 'PER HOUR', 'PODS', 'OTHER TYPES'], rows)}`;
}

/** The capacity type, and the Savings Plan or reserved instances that cover it. */
const paidBy = ({ capacityType, commitment }: PlannedClaim['cheapest']): string =>
  commitment === undefined ? capacityType : `${capacityType} (${commitment})`;

function existing(nodes: Plan['existingNodes']): string {
  if (nodes.length === 0) return '';
  return `Pods that fit on existing nodes\n${renderTable(
    ['NODE', 'PODS'],
    nodes.map(({ node, pods }) => [node, pods.length]),
  )}`;
}

function pending(pods: readonly Unschedulable[]): string {
  if (pods.length === 0) return '';
  const byReason = new Map<string, string[]>();
  for (const { pod, reason } of pods) {
    const names = byReason.get(reason);
    if (names === undefined) byReason.set(reason, [pod]);
    else names.push(pod);
  }
  const lines = [...byReason].slice(0, shownReasons).map(([reason, names]) => {
    const others = names.length > 1 ? ` and ${names.length - 1} more` : '';
    return `  ${names[0] ?? ''}${others}: ${reason}`;
  });
  if (byReason.size > shownReasons)
    lines.push(`  ... and ${byReason.size - shownReasons} more reasons; -o json lists them all`);
  return `${counted(pods.length, 'pod')} cannot be placed\n${lines.join('\n')}`;
}

function deferred(pods: readonly string[]): string {
  const [first] = pods;
  if (first === undefined) return '';
  const others = pods.length > 1 ? ` and ${pods.length - 1} more` : '';
  return `${counted(pods.length, 'pod')} with many terms left for the next pass, which follows at once\n  ${first}${others}`;
}

function otherSchedulers(pods: readonly string[]): string {
  const [first] = pods;
  if (first === undefined) return '';
  const others = pods.length > 1 ? ` and ${pods.length - 1} more` : '';
  return `${counted(pods.length, 'pod')} left alone: ${verb(pods.length, 'it asks', 'they ask')} for a node outside of NodePools\n  ${first}${others}`;
}

function gated(pods: readonly string[]): string {
  if (pods.length === 0) return '';
  return `${counted(pods.length, 'pod')} not planned for: ${verb(pods.length, 'it has', 'they have')} scheduling gates\n  ${listedNames(pods)}`;
}

function ignored(pods: NonNullable<Plan['ignoredPreferences']>): string {
  const [first] = pods;
  if (first === undefined) return '';
  const others = pods.length > 1 ? ` and ${pods.length - 1} more` : '';
  const share = `${first.ignored} of ${counted(first.honoured + first.ignored, 'preference')}`;
  return `${counted(pods.length, 'pod')} with more than ${counted(first.honoured, 'preference')}: the heaviest are honoured\n  ${first.pod}${others}: ${share} ignored`;
}

function relaxed(pods: readonly RelaxedPod[]): string {
  const [first] = pods;
  if (first === undefined) return '';
  const others = pods.length > 1 ? ` and ${pods.length - 1} more` : '';
  const share = `${first.relaxed} of ${counted(first.preferences, 'preference')}`;
  return `${counted(pods.length, 'pod')} placed without some of ${verb(pods.length, 'its', 'their')} preferences, so that ${verb(pods.length, 'it has', 'they have')} a node\n  ${first.pod}${others}: ${share} relaxed`;
}

function total(plan: Plan, solveMs: number): string {
  const placed = plan.newNodeClaims.reduce((sum, claim) => sum + claim.pods.length, 0);
  const onExisting = plan.existingNodes.reduce((sum, node) => sum + node.pods.length, 0);
  const left = plan.unschedulable.length + (plan.deferred?.length ?? 0) + (plan.ignored?.length ?? 0);
  if (placed + onExisting + left === 0) return `No ${(plan.gated ?? []).length > 0 ? 'other ' : ''}pod is pending.`;
  if (plan.pricePerHour === 0 && plan.newNodeClaims.length === 0)
    return `No node is launched; planned in ${solveMs.toFixed(1)} ms.`;
  const summary = `${counted(plan.newNodeClaims.length, 'node')} for ${counted(placed, 'pod')} at ${hourly(plan.pricePerHour)} per hour`;
  return `${summary}${optimality(plan)}, planned in ${solveMs.toFixed(1)} ms.${comparablePlans(plan)}${unknown(plan)}`;
}

const comparablePlans = ({ comparableLowerBoundPerHour }: Plan): string =>
  comparableLowerBoundPerHour === undefined
    ? ''
    : '\nComparable plans have at most as many nodes, and keep the same preferences of pods.';

/** What the bound does not take into account, if the plan is far above it. */
const unknown = ({ boundLeavesOut = [] }: Plan): string =>
  boundLeavesOut.length === 0 ? '' : `\nThe lower bound ignores: ${boundLeavesOut.join(', ')}.`;

function optimality({ pricePerHour, lowerBoundPerHour, comparableLowerBoundPerHour }: Plan): string {
  const ofAny = overBound(pricePerHour, lowerBoundPerHour);
  const ofComparable = overBound(pricePerHour, comparableLowerBoundPerHour ?? 0);
  if (ofComparable === undefined) {
    if (ofAny === undefined) return '';
    return ofAny === 'none' ? ', which is the lowest possible price' : `, at most ${ofAny} above the lower bound`;
  }
  const others = ofAny === undefined ? '' : ` (and ${ofAny} above the lower bound for any plan)`;
  return ofComparable === 'none'
    ? `, which is the lowest possible price of comparable plans${others}`
    : `, at most ${ofComparable} above the lower bound for comparable plans${others}`;
}

/** How much the price is above the bound, in percent; undefined without a bound. */
function overBound(price: number, bound: number): string | undefined {
  if (price <= 0 || bound <= 0) return undefined;
  const percent = Math.max(0, (price / bound - 1) * 100);
  return percent < 0.05 ? 'none' : `${percent.toFixed(1)}%`;
}

/** Price against number of nodes in the format of `stowage plan --frontier -o json`. */
interface FrontierDocument {
  readonly engine: 'stowage';
  /** The default plan. */
  readonly taken: Pick<PointDocument, 'nodes' | 'pricePerHour'>;
  /** By price ascending; each has fewer nodes than the previous one. */
  readonly points: readonly PointDocument[];
  /** Pods that none of the plans places. */
  readonly unschedulable: number;
  /** Lower bound of the price of plans for the same pods. */
  readonly lowerBoundPerHour: number;
  /** Time for all plans, milliseconds. */
  readonly solveMs: number;
}

interface PointDocument {
  readonly nodes: number;
  readonly pricePerHour: number;
  /**
   * Additional cost of a node from which this plan is the cheapest, dollars per hour; null: without additional cost.
   */
  readonly nodeCost: number | null;
  /** Lower bound of the price of plans with at most this number of nodes. */
  readonly lowerBoundPerHour: number;
  /** Number of nodes by cheapest type. */
  readonly instanceTypes: Readonly<Record<string, number>>;
}

export function frontierDocument({ taken, points }: Frontier, solveMs: number): FrontierDocument {
  return {
    engine: 'stowage',
    taken: { nodes: taken.newNodeClaims.length, pricePerHour: rounded(taken.pricePerHour, 9) },
    points: points.map(({ plan, nodes, pricePerHour, nodeCost, lowerBoundPerHour }) => ({
      nodes,
      pricePerHour: rounded(pricePerHour, 9),
      nodeCost: nodeCost === undefined ? null : rounded(nodeCost, 9),
      lowerBoundPerHour: rounded(lowerBoundPerHour, 9),
      instanceTypes: Object.fromEntries(typesOf(plan)),
    })),
    unschedulable: taken.unschedulable.length,
    lowerBoundPerHour: rounded(taken.lowerBoundPerHour, 9),
    solveMs: rounded(solveMs, 3),
  };
}

const rounded = (amount: number, digits: number): number => Number(amount.toFixed(digits));

/** The same as text; marks the default plan. */
export function frontierText(frontier: Frontier, solveMs: number): string {
  const { taken, points } = frontier;
  const [cheapest] = points;
  if (cheapest === undefined || cheapest.nodes === 0) return 'No node would be launched.\n';
  const rows = points.map((point) => [
    isTaken(point, taken) ? '*' : '',
    point.nodes,
    hourly(point.pricePerHour),
    `${((point.pricePerHour / cheapest.pricePerHour - 1) * 100).toFixed(1)}%`,
    hourly(point.lowerBoundPerHour),
    point.nodeCost === undefined ? '-' : hourly(point.nodeCost),
    mostUsed(point.plan),
  ]);
  const lines = [
    'Price against number of nodes',
    renderTable(['', 'NODES', 'PER HOUR', 'MORE', 'LOWER BOUND', 'FROM A NODE COST OF', 'TYPES'], rows),
    '',
    points.some((point) => isTaken(point, taken))
      ? '* is the plan.'
      : `The plan is none of these: ${counted(taken.newNodeClaims.length, 'node')} at ${hourly(taken.pricePerHour)}.`,
    'LOWER BOUND: no plan with at most as many nodes costs less.',
    'FROM A NODE COST OF: from this additional cost of each node on (agents, licences, addresses) the plan of that line is the cheapest. Set it as nodeCost of a DisruptionPolicy.',
    ...(taken.unschedulable.length > 0
      ? [`${counted(taken.unschedulable.length, 'pod')} cannot be placed; run without --frontier to see why.`]
      : []),
    `Planned in ${solveMs.toFixed(1)} ms.`,
  ];
  return `${lines.join('\n')}\n`;
}

const isTaken = ({ nodes, pricePerHour }: FrontierPoint, taken: Plan): boolean =>
  nodes === taken.newNodeClaims.length && Math.abs(pricePerHour - taken.pricePerHour) < 1e-9;

const shownTypes = 3;

/** The types with most nodes. */
function mostUsed(plan: Plan): string {
  const types = typesOf(plan);
  const shown = types.slice(0, shownTypes).map(([type, nodes]) => `${nodes} ${type}`);
  const others = types.slice(shownTypes).reduce((sum, [, nodes]) => sum + nodes, 0);
  return [...shown, ...(others > 0 ? [`${others} others`] : [])].join(', ');
}

/** Number of nodes by cheapest type, the most first. */
function typesOf({ newNodeClaims }: Plan): [string, number][] {
  const counts = new Map<string, number>();
  for (const { cheapest } of newNodeClaims)
    counts.set(cheapest.instanceType, (counts.get(cheapest.instanceType) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}
