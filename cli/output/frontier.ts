import type { Frontier, FrontierPoint } from '../bound/frontier.js';
import type { Plan } from '../../packing/types.js';
import { counted } from '../../core/text.js';
import { hourly, renderTable } from './table.js';

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
