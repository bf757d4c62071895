import type { Pod } from '../../api/kubernetes.js';
import { poolKey } from './catalogue.js';
import { type Cluster, type Pool, isDaemonPod, isFinished, isDeleting, isMirror } from './cluster.js';
import { isWindowOpen } from './cron.js';
import { milliseconds } from './durations.js';
import { launchesOf } from './placement.js';
import { podKey } from './pods.js';
import { fixedLabels, type Prices } from './prices.js';
import { selectorMatches } from './selectors.js';
import type { ClaimJson, CommandJson, Violation } from './types.js';

export type Report = (rule: Violation['rule'], message: string, node?: string) => void;

const capacityTypeKey = 'karpenter.sh/capacity-type';
const doNotDisruptKey = 'karpenter.sh/do-not-disrupt';
const deletionCostKey = 'controller.kubernetes.io/pod-deletion-cost';

export const podsOn = (cluster: Cluster, node: string): Pod[] =>
  [...cluster.pods.values()].filter((pod) => pod.spec.nodeName === node && !isFinished(pod));

export const mustMove = (pod: Pod): boolean =>
  !isDaemonPod(pod) && !isMirror(pod) && pod.metadata.deletionTimestamp === undefined;

/** What evicting the pod weighs: nothing for those that ask to go first. */
function weight({ metadata, spec }: Pod): number {
  const asked = Number(metadata.annotations?.[deletionCostKey] ?? 0) / 2 ** 27;
  return Math.max(0, Math.min(10, 1 + asked + (spec.priority ?? 0) / 2 ** 25));
}
const disruption = (pods: readonly Pod[]): number => pods.filter(mustMove).reduce((sum, pod) => sum + weight(pod), 1);

function isProtected({ metadata, status }: Pod, now: number): boolean {
  const asked = metadata.annotations?.[doNotDisruptKey];
  if (asked === undefined || asked === 'true') return asked !== undefined;
  const length = milliseconds(asked);
  return length > 0 && (status?.startTime === undefined || Date.parse(status.startTime) + length > now);
}

/** Each candidate is there, and neither it nor a pod of it nor its NodePool forbids that it goes. */
export function checkCandidates(cluster: Cluster, command: CommandJson, now: number, report: Report): void {
  for (const name of command.candidates) {
    const node = cluster.nodes.get(name);
    if (node === undefined) {
      report('candidate', `there is no node ${name}`, name);
      continue;
    }
    if (isDeleting(node, cluster.claims.get(name))) report('candidate', `${name} is being deleted already`, name);
    if (node.metadata.annotations?.[doNotDisruptKey] === 'true')
      report('candidate', `${name} is not to be disrupted`, name);
    const pods = podsOn(cluster, name);
    for (const pod of pods) {
      if (isProtected(pod, now)) report('candidate', `${podKey(pod)} on ${name} is not to be disrupted`, name);
      if (isGuarded(cluster, pod)) {
        report('candidate', `no disruption budget lets ${podKey(pod)} go from ${name}`, name);
      }
    }
    const isEmpty = disruption(pods) <= 1;
    if (command.method === 'empty' && !isEmpty) report('candidate', `${name} is not empty`, name);
    const pool = cluster.pools.get(node.metadata.labels?.[poolKey] ?? '');
    const refusal = refusalOf(pool, isEmpty);
    if (refusal !== undefined) report('candidate', `${refusal} of ${name}`, name);
  }
}

/** Why a NodePool would not have a node consolidated. */
function refusalOf(pool: Pool | undefined, isEmpty: boolean): string | undefined {
  const { consolidationPolicy, consolidateAfter } = pool?.spec.disruption ?? {};
  if (pool === undefined) return 'there is no NodePool';
  if (pool.spec.replicas !== undefined) return 'the NodePool is static';
  if (consolidateAfter === 'Never') return 'consolidateAfter: Never holds for the NodePool';
  return consolidationPolicy === 'WhenEmpty' && !isEmpty ? 'WhenEmpty holds for the NodePool' : undefined;
}

/** Whether pods came to the node, or left it, or it was made ready, less than its NodePool's consolidateAfter ago. */
export function isUnsettled(cluster: Cluster, name: string, now: number): boolean {
  const after = cluster.pools.get(cluster.nodes.get(name)?.metadata.labels?.[poolKey] ?? '')?.spec.disruption;
  const { lastPodEventTime, conditions = [] } = cluster.claims.get(name)?.status ?? {};
  const ready = conditions.find(({ type, status }) => type === 'Initialized' && status === 'True')?.lastTransitionTime;
  if (after?.consolidateAfter === undefined || after.consolidateAfter === 'Never' || ready === undefined) return false;
  return Date.parse(lastPodEventTime ?? ready) + milliseconds(after.consolidateAfter) > now;
}

function isGuarded(cluster: Cluster, pod: Pod): boolean {
  const disrupted = (toleration: { key?: string; operator?: string; effect?: string }): boolean =>
    (toleration.key ?? 'karpenter.sh/disrupted') === 'karpenter.sh/disrupted' &&
    toleration.operator === 'Exists' &&
    (toleration.effect ?? 'NoSchedule') === 'NoSchedule';
  if (isMirror(pod) || pod.metadata.deletionTimestamp !== undefined) return false;
  if (pod.spec.tolerations?.some(disrupted) === true) return false;
  const ready = (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
  const budgets = cluster.disruptionBudgets.filter(
    (budget) =>
      (budget.metadata.namespace ?? 'default') === (pod.metadata.namespace ?? 'default') &&
      (ready || budget.spec.unhealthyPodEvictionPolicy !== 'AlwaysAllow') &&
      selectorMatches(budget.spec.selector, pod.metadata.labels ?? {}),
  );
  return budgets.length > 1 || budgets.some((budget) => (budget.status?.disruptionsAllowed ?? 0) === 0);
}

/** No NodePool loses more nodes at once than its budgets allow. */
export function checkBudgets(cluster: Cluster, command: CommandJson, now: number, report: Report): void {
  const reason = command.method === 'empty' ? 'Empty' : 'Underutilized';
  // Whether a node keeps room for a capacity buffer is not written on it.
  const isBuffered = [...cluster.pods.values()].some(({ virtual }) => virtual === true);
  const empty = isBuffered ? [] : command.candidates.filter((name) => disruption(podsOn(cluster, name)) <= 1);
  for (const [name, pool] of cluster.pools) {
    const ofPool = [...cluster.nodes.values()].filter(
      (node) => node.metadata.labels?.[poolKey] === name && cluster.claims.has(node.metadata.name ?? ''),
    );
    const going = ofPool.filter((node) => command.candidates.includes(node.metadata.name ?? '')).length;
    const disrupting = ofPool.filter((node) => {
      const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'True';
      return ready !== 'True' || isDeleting(node, cluster.claims.get(node.metadata.name ?? ''));
    }).length;
    const allowedFor = (why: string): number =>
      Math.max(
        0,
        Math.min(
          ...(pool.spec.disruption?.budgets ?? [{ nodes: '10%' }])
            .filter((budget) => (budget.reasons?.includes(why) ?? true) && isOpen(budget, now))
            .map((budget) => allowance(budget.nodes ?? '10%', ofPool.length) - disrupting),
        ),
      );
    const allowed = allowedFor(reason);
    if (going > allowed) report('disruption-budget', `takes ${going} nodes of ${name} where ${allowed} may go`);
    const goingEmpty = ofPool.filter((node) => empty.includes(node.metadata.name ?? '')).length;
    if (goingEmpty > allowedFor('Empty'))
      report('disruption-budget', `takes ${goingEmpty} empty nodes of ${name} where ${allowedFor('Empty')} may go`);
  }
}

const isOpen = ({ schedule, duration }: { schedule?: string; duration?: string }, now: number): boolean =>
  schedule === undefined || duration === undefined || isWindowOpen(schedule, milliseconds(duration), now);

const allowance = (nodes: string, total: number): number =>
  nodes.endsWith('%') ? Math.ceil((Number(nodes.slice(0, -1)) * total) / 100) : Number(nodes);

const order = ['reserved', 'spot', 'on-demand'];

/** However the launches go, the fleet gets cheaper; spot alone is not replaced by spot. */
export function checkReplacements(cluster: Cluster, prices: Prices, command: CommandJson, report: Report): void {
  const { replacements, decision, candidates } = command;
  if ((decision === 'delete') !== (replacements.length === 0))
    report('price', `decides to ${decision} with ${replacements.length} replacements`);
  if (replacements.length === 0) return;
  const going = candidates.flatMap((name) => cluster.nodes.get(name) ?? []);
  const onlySpot = going.every(({ metadata }) => metadata.labels?.[capacityTypeKey] === 'spot');
  const gone = going.reduce((sum, { metadata }) => sum + prices.of(metadata.labels ?? {}), 0);
  const worst = replacements.reduce((sum, claim) => {
    const byType = waysOf(cluster, prices, claim);
    const kinds = new Set([...byType.values()].flatMap((ways) => ways.map(({ capacityType }) => capacityType)));
    if (onlySpot && kinds.has('spot')) report('price', 'replaces nothing but spot nodes by spot');
    if (kinds.has('spot') && kinds.has('on-demand'))
      report('price', `may launch on-demand of ${claim.nodePool} in the place of spot`);
    return sum + Math.max(0, ...[...byType.values()].map(worstOf));
  }, 0);
  if (worst >= gone) report('price', `may launch ${worst} for ${gone}`);
}

interface Way {
  readonly capacityType: string;
  readonly price: number;
}

function waysOf(cluster: Cluster, prices: Prices, claim: ClaimJson): Map<string, Way[]> {
  const pool = cluster.pools.get(claim.nodePool);
  const byType = new Map<string, Way[]>();
  if (pool === undefined) return byType;
  const types = prices.typesOf(pool);
  const listed = claim.instanceTypes.flatMap((name) => types.get(name) ?? []);
  for (const { type, offer } of launchesOf(listed, fixedLabels(pool, claim, 'new'), claim.requirements ?? [])) {
    const ways = byType.get(type.name) ?? [];
    ways.push({ capacityType: offer.capacityType, price: offer.price });
    byType.set(type.name, ways);
  }
  return byType;
}

/** The dearest of the capacity type that is tried first. */
function worstOf(ways: readonly Way[]): number {
  const first = order.find((each) => ways.some(({ capacityType }) => capacityType === each));
  return Math.max(...ways.filter(({ capacityType }) => capacityType === first).map(({ price }) => price));
}

/** Every `Balanced` NodePool gets at least half as large a share of its price back as of its disruption. */
export function checkBalance(cluster: Cluster, prices: Prices, command: CommandJson, report: Report): void {
  if (command.method === 'empty') return;
  const priceAt = (name: string): number => prices.of(cluster.nodes.get(name)?.metadata.labels ?? {});
  const poolAt = (name: string): string => cluster.nodes.get(name)?.metadata.labels?.[poolKey] ?? '';
  const sum = (names: readonly string[], of: (name: string) => number): number =>
    names.reduce((total, name) => total + of(name), 0);
  const gone = sum(command.candidates, priceAt);
  const saved = gone - command.replacements.reduce((total, { cheapest }) => total + (cheapest?.pricePerHour ?? 0), 0);
  for (const name of new Set(command.candidates.map(poolAt))) {
    if (cluster.pools.get(name)?.spec.disruption?.consolidationPolicy !== 'Balanced') continue;
    const own = command.candidates.filter((node) => poolAt(node) === name);
    const all = [...cluster.nodes.keys()].filter((node) => poolAt(node) === name);
    const cost = (nodes: readonly string[]): number => sum(nodes, (node) => disruption(podsOn(cluster, node)));
    const share = (saved * (sum(own, priceAt) / gone)) / sum(all, priceAt);
    if (share < (cost(own) / cost(all)) * 0.5 * (1 - 1e-6))
      report('candidate', `${name} is Balanced, and gets ${share} of its price back for too many evictions`);
  }
}
