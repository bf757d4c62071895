import type { SpotRatio } from '../../api/stowage/disruption-policy.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { rulingPolicy } from '../compile/node-costs.js';
import type { Compiled } from '../compile/compiled.js';
import { offeringLabelsOf } from '../compile/nodes.js';
import { capacityOf } from '../compile/pool-limits.js';

/** The data of a NodeClaim that determine its capacity type. */
export interface SpotChoice {
  readonly pool: string;
  /** The zone of the NodeClaim; undefined if it is open. */
  readonly zone: string | undefined;
  /**
   * Millicores of the cheapest type on spot and on demand; undefined if the NodeClaim cannot be launched under that
   * capacity type.
   */
  readonly spot: number | undefined;
  readonly onDemand: number | undefined;
}

type Share = 'spot' | 'on-demand';

/**
 * The spot ratio of a NodePool: that of the policy with the highest weight that selects it; of equal weights the first
 * by name.
 */
export function ratioOf(compiled: Compiled, pool: NodePool): SpotRatio | undefined {
  return rulingPolicy(pool, compiled.input.objects.disruptionPolicies)?.spec.spotRatio;
}

interface Running {
  spot: number;
  onDemand: number;
}

/**
 * Decides for each NodeClaim of a NodePool with a spot ratio whether it is spot or on-demand, so that the vCPUs of the
 * NodePool including its running nodes come as close to the ratio as whole nodes allow. Large nodes are decided first,
 * since small ones can even out the rest. With `perZone` the ratio holds in each zone.
 */
export function shareOut(
  ratio: SpotRatio,
  choices: readonly SpotChoice[],
  running: ReadonlyMap<string, Running>,
): Share[] {
  const shares = choices.map(({ spot }): Share => (spot === undefined ? 'on-demand' : 'spot'));
  const tallies = new Map<string, Running>([...running].map(([key, tally]) => [key, { ...tally }]));
  const keyOf = ({ zone }: SpotChoice): string => (ratio.perZone ? (zone ?? '') : '');
  const tallyOf = (choice: SpotChoice): Running => {
    const key = keyOf(choice);
    let tally = tallies.get(key);
    if (tally === undefined) tallies.set(key, (tally = { spot: 0, onDemand: 0 }));
    return tally;
  };
  const open: number[] = [];
  choices.forEach((choice, i) => {
    if (choice.spot === undefined) tallyOf(choice).onDemand += choice.onDemand ?? 0;
    else if (choice.onDemand === undefined) tallyOf(choice).spot += choice.spot;
    else open.push(i);
  });
  open.sort((a, b) => choices[b]!.spot! - choices[a]!.spot!);
  const target = ratio.spotPercent / 100;
  let floor = ratio.minimumOnDemandVCPU * 1000 - [...tallies.values()].reduce((sum, tally) => sum + tally.onDemand, 0);
  for (const i of open) {
    const { spot, onDemand } = choices[i]!;
    const tally = tallyOf(choices[i]!);
    const asSpot = distance(tally.spot + spot!, tally.onDemand, target);
    const asOnDemand = distance(tally.spot, tally.onDemand + onDemand!, target);
    if (floor <= 0 && asSpot <= asOnDemand) tally.spot += spot!;
    else {
      tally.onDemand += onDemand!;
      floor -= onDemand!;
      shares[i] = 'on-demand';
    }
  }
  return shares;
}

function distance(spot: number, onDemand: number, target: number): number {
  return Math.abs(spot - target * (spot + onDemand));
}

/** Millicores of the NodePool's nodes that are not deleting, by zone if the ratio is by zone. */
export function runningShares({ nodes }: Compiled, pool: string, perZone: boolean): Map<string, Running> {
  const running = new Map<string, Running>();
  for (const view of nodes) {
    const own = offeringLabelsOf(view);
    if (view.deleting || own[labels.nodePool] !== pool) continue;
    const key = perZone ? (own[labels.zone] ?? '') : '';
    const tally = running.get(key) ?? { spot: 0, onDemand: 0 };
    const amount = capacityOf(view, 'cpu');
    if (own[labels.capacityType] === 'spot') tally.spot += amount;
    else tally.onDemand += amount;
    running.set(key, tally);
  }
  return running;
}
