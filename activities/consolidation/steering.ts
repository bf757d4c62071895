import type { Node, Taint } from '../../api/kubernetes.js';
import { taints } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { hasTaint, withoutTaint } from '../../core/taints.js';
import { parseResources } from '../../core/quantities.js';
import { isDeletingNode, managedClaims, nodeOf, unrequestedOf } from '../../cluster/cluster.js';
import type { ConsolidationActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { forEachBestEffort } from '../for-each-item.js';
import { updateNode } from '../../cluster/writes.js';
import { lookUp } from '../../core/own.js';
import { nameOf, isDeleting } from '../../core/names.js';

type Input = Parameters<ConsolidationActivities['steerPods']>[0];

/** The most nodes with the taint at a time, because each is written when a drain begins and when the last one ends. */
const mostSteered = 50;

/**
 * Adds the soft taint to the nodes that pods should stay away from, and removes it from all others; without targets
 * from all. Writes only changes. A node that cannot be written is left for the next call, and is returned as long as it
 * may have the taint.
 */
export async function steerPods(deps: ActivityDeps, { targets, steered }: Input): Promise<{ steered: string[] }> {
  const wanted = targets.length === 0 ? [] : nodesBeside(deps, new Set(targets));
  const kept = new Set(wanted);
  const marked = deps.cache.all('Node').filter(isSteered).map(nameOf);
  const freed = [...new Set([...steered, ...marked])].filter((name) => !kept.has(name));
  const what = (end: string): { readonly what: string; readonly nameOf: (name: string) => string } => ({
    what: `${end} of a soft taint`,
    nameOf: (name) => `Node ${name}`,
  });
  const before = new Set(steered);
  const write = (isWanted: boolean) => (name: string) =>
    writeTaint(deps, name, { isWanted, wasWanted: before.has(name) });
  const stuck = await forEachBestEffort(deps, freed, write(false), what('the end'));
  await forEachBestEffort(deps, wanted, write(true), what('the beginning'));
  return { steered: [...wanted, ...stuck.map(({ item }) => item)] };
}

const isSteered = (node: Node): boolean => hasTaint(node, taints.steer);

/**
 * Managed nodes that stay and are not targets, by the name of node or NodeClaim: the emptiest first, since
 * kube-scheduler prefers these.
 */
function nodesBeside(deps: ActivityDeps, targets: ReadonlySet<string>): string[] {
  const nodes = managedClaims(deps).flatMap((claim) => {
    const node = nodeOf(deps.cache, claim);
    if (node === undefined || targets.has(nameOf(claim)) || targets.has(nameOf(node))) return [];
    return isDeletingNode(node) || isDeleting(claim) ? [] : [node];
  });
  if (nodes.length <= mostSteered) return nodes.map(nameOf);
  const ranked = nodes.map((node) => ({ name: nameOf(node), free: freeShare(deps, node) }));
  ranked.sort((a, b) => b.free - a.free || compareText(a.name, b.name));
  return ranked.slice(0, mostSteered).map(({ name }) => name);
}

/** The mean of the unrequested shares of CPU and memory, by which kube-scheduler's LeastAllocated scores nodes. */
function freeShare({ cache }: ActivityDeps, node: Node): number {
  const totals = parseResources(node.status?.allocatable);
  const left = unrequestedOf(cache, node);
  const [cpu = 0, memory = 0] = ['cpu', 'memory'].map((resource) => {
    const total = lookUp(totals, resource) ?? 0;
    return total === 0 ? 0 : Math.max(0, (lookUp(left, resource) ?? 0) / total);
  });
  return (cpu + memory) / 2;
}

/** Reads the Node where the cache does not show yet what the call before wanted. */
async function writeTaint(
  deps: ActivityDeps,
  name: string,
  { isWanted, wasWanted }: { readonly isWanted: boolean; readonly wasWanted: boolean },
): Promise<void> {
  const cached = deps.cache.get('Node', { name });
  const isKnown = cached !== undefined && (isSteered(cached) ? !isWanted || wasWanted : !wasWanted);
  const decide = (node: Node): { spec: { taints: Taint[] } } | undefined => {
    if (isSteered(node) === isWanted || (isWanted && isDeletingNode(node))) return undefined;
    const others = withoutTaint(node, taints.steer);
    return { spec: { taints: isWanted ? [...others, taints.steer] : others } };
  };
  await updateNode(deps.kube, name, decide, isKnown ? cached : undefined);
}
