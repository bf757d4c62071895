/** What kube-scheduler reads of a node. */
export interface SchedulerNode {
  readonly name: string;
  readonly zone: string;
  /** Taints of effect PreferNoSchedule. */
  readonly softTaints: number;
  /** CPUs in milli, memory in bytes, pods as a count. */
  readonly allocatable: Amounts;
  readonly requested: Amounts;
  /** Running pods by the value of the label that its ReplicaSet selects. */
  readonly pods: ReadonlyMap<string, number>;
}

export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
}

export interface SchedulerPod {
  readonly app: string;
  readonly requests: Amounts;
}

export const resourceNames = ['cpu', 'memory', 'pods'] as const;

const most = 100;
/** Weights of kube-scheduler's default profile. */
const weights = { taintToleration: 3, spread: 2, leastAllocated: 1, balancedAllocation: 1 };
/** Its default constraints for pods of a ReplicaSet, both ScheduleAnyway. */
const skews = { hostname: 3, zone: 5 };

export function fits({ requests }: SchedulerPod, { allocatable, requested }: SchedulerNode): boolean {
  return resourceNames.every((name) => requested[name] + requests[name] <= allocatable[name]);
}

/**
 * The nodes that kube-scheduler (v1.36.1) likes best for the pod, of those that may take it; it picks one of them at random.
 * `all` are counted for the spread over zones as well, whether they take pods or not.
 */
export function favourites(
  pod: SchedulerPod,
  open: readonly SchedulerNode[],
  all: readonly SchedulerNode[],
): readonly SchedulerNode[] {
  const spread = spreadScores(pod, open, all);
  const mostTaints = Math.max(...open.map(({ softTaints }) => softTaints));
  const scored = open.map((node, i) => {
    const tainted = mostTaints === 0 ? 0 : Math.trunc((most * node.softTaints) / mostTaints);
    const score =
      weights.taintToleration * (most - tainted) +
      weights.spread * spread[i]! +
      weights.leastAllocated * leastAllocated(pod, node) +
      weights.balancedAllocation * balancedAllocation(pod, node);
    return { node, score };
  });
  const best = Math.max(...scored.map(({ score }) => score));
  return scored.filter(({ score }) => score === best).map(({ node }) => node);
}

/** NodeResourcesFit: the mean of what would be left of CPUs and memory. */
export function leastAllocated({ requests }: SchedulerPod, { allocatable, requested }: SchedulerNode): number {
  const left = (name: 'cpu' | 'memory'): number =>
    Math.trunc(((allocatable[name] - requested[name] - requests[name]) * most) / allocatable[name]);
  return Math.trunc((left('cpu') + left('memory')) / 2);
}

/** NodeResourcesBalancedAllocation: what the pod does to the balance of CPUs and memory. */
export function balancedAllocation({ requests }: SchedulerPod, { allocatable, requested }: SchedulerNode): number {
  const balance = (cpu: number, memory: number): number => {
    const shares = [cpu / allocatable.cpu, memory / allocatable.memory].map((share) => Math.min(1, share));
    return Math.trunc((1 - Math.abs((shares[0]! - shares[1]!) / 2)) * most);
  };
  const after = balance(requested.cpu + requests.cpu, requested.memory + requests.memory);
  return most / 2 + Math.trunc((most / 2 + after - balance(requested.cpu, requested.memory)) / 2);
}

/** PodTopologySpread: few pods of the same ReplicaSet on the node and in its zone. */
function spreadScores({ app }: SchedulerPod, open: readonly SchedulerNode[], all: readonly SchedulerNode[]): number[] {
  const zones = new Map(open.map(({ zone }) => [zone, 0]));
  for (const { zone, pods } of all) {
    const count = zones.get(zone);
    if (count !== undefined) zones.set(zone, count + (pods.get(app) ?? 0));
  }
  const byHost = Math.log(open.length + 2);
  const byZone = Math.log(zones.size + 2);
  const raw = open.map(({ zone, pods }) => {
    const host = (pods.get(app) ?? 0) * byHost + skews.hostname - 1;
    return Math.round(host + zones.get(zone)! * byZone + skews.zone - 1);
  });
  const [highest, lowest] = [Math.max(...raw), Math.min(...raw)];
  return raw.map((score) => (highest === 0 ? most : Math.trunc((most * (highest + lowest - score)) / highest)));
}
