import type { Node, Taint } from '../../api/kubernetes.js';
import { annotations, taints } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { hasTaint, withoutTaint } from '../../core/taints.js';
import { parseResources } from '../../core/quantities.js';
import { isDeletingNode, managedClaims, nodeOf, unrequestedOf } from '../../cluster/cluster.js';
import type { ConsolidationActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { forEachBestEffort } from '../for-each-item.js';
import { updateClaim, updateNode } from '../../cluster/writes.js';
import type { ClaimRef } from '../../core/refs.js';
import { lookUp } from '../../core/own.js';
import { nameOf, isDeleting } from '../../core/names.js';

/** The most nodes with the taint at a time, because each is written when a drain begins and when the last one ends. */
const mostSteered = 50;
/**
 * Steering ends after this time even if the drain continues: it is then blocked, and new pods should not be kept off
 * other nodes for so long.
 */
const steeredForMs = 5 * 60_000;

/**
 * Records on NodeClaims that are about to be drained where their pods should go, and taints other nodes softly. Commands
 * at the same time share their targets. Without targets, the steering of these NodeClaims ends.
 */
export async function steerPods(
  deps: ActivityDeps,
  { claims, targets }: Parameters<ConsolidationActivities['steerPods']>[0],
): Promise<void> {
  const record = async (claim: ClaimRef): Promise<void> => {
    await updateClaim(deps.kube, claim, () => ({
      metadata: { annotations: { [annotations.steersTo]: targets.join() } },
    }));
  };
  const texts = { what: 'the record of where pods go', nameOf: ({ name }: ClaimRef) => `NodeClaim ${name}` };
  if (targets.length > 0) await forEachBestEffort(deps, claims, record, texts);
  // The cache may not show these claims as they are now.
  await taintBeside(deps, [...targets, ...targetsNow(deps, new Set(claims.map(({ uid }) => uid)))]);
}

/** Removes all soft taints if no pods are steered any more. */
export async function endSteering(deps: ActivityDeps): Promise<void> {
  if (targetsNow(deps, new Set()).length === 0) await taintBeside(deps, []);
}

/** The targets of all drains that are steered, other than those of these NodeClaims. */
const targetsNow = (deps: ActivityDeps, others: ReadonlySet<string>): readonly string[] =>
  managedClaims(deps).flatMap(({ metadata: { uid = '', deletionTimestamp, annotations: own } }) => {
    const targets = lookUp(own, annotations.steersTo);
    const isOver = deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + steeredForMs <= deps.now();
    return targets === undefined || isOver || others.has(uid) ? [] : targets.split(',');
  });

/**
 * Adds the soft taint to nodes other than these, and removes it from all others; without targets from all. Writes only
 * changes. What cannot be written is left for the next call.
 */
async function taintBeside(deps: ActivityDeps, targets: readonly string[]): Promise<void> {
  const wanted = new Set(targets.length === 0 ? [] : nodesBeside(deps, new Set(targets)));
  const marked = deps.cache.all('Node').filter(isSteered).map(nameOf);
  const write = async (name: string): Promise<void> => {
    const decide = (node: Node): { spec: { taints: Taint[] } } | undefined => {
      const isWanted = wanted.has(name);
      if (isSteered(node) === isWanted || (isWanted && isDeletingNode(node))) return undefined;
      const others = withoutTaint(node, taints.steer);
      return { spec: { taints: isWanted ? [...others, taints.steer] : others } };
    };
    await updateNode(deps.kube, name, decide, deps.cache.get('Node', { name }));
  };
  const changing = [...marked.filter((name) => !wanted.has(name)), ...wanted];
  await forEachBestEffort(deps, changing, write, {
    what: 'the change of a soft taint',
    nameOf: (name) => `Node ${name}`,
  });
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
