import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Taint } from '../../api/kubernetes.js';
import { labels, taints as knownTaints } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { isKnownEphemeral, isSameTaint, withoutTaint } from '../../core/taints.js';
import { normaliseKey } from '../../core/labels.js';
import type { ClusterObjects } from '../types.js';
import { lookUp } from '../../core/own.js';
import { isDeleting, nameOf } from '../../core/names.js';

/** A Node, or a NodeClaim without a registered Node, before its resources are counted. */
export interface CompiledNode {
  readonly name: string;
  readonly node?: Node;
  readonly claim?: NodeClaim;
  readonly labels: Readonly<Record<string, string>>;
  /** Its permanent taints, without startup taints and those of a drain in progress (scheduling/starting-nodes). */
  readonly taints: readonly Taint[];
  readonly initialized: boolean;
  /** Whether it is being deleted or assumed to be removed: it takes no pods, and its pods count as pending. */
  readonly deleting: boolean;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Labels of every node once it is ready for pods (scheduling/starting-nodes). */
const readyLabels = { [labels.registered]: 'true', [labels.initialized]: 'true' } as const;

/**
 * Labels that kube-scheduler will see on every new node, whatever its NodePool and instance type. The host name is
 * unknown, so it has a value that no pod can require (requirements/restricted-keys).
 */
export const newNodeLabels: Readonly<Record<string, string>> = { ...readyLabels, [labels.hostname]: ' ' };

const offeringKeys = [labels.nodePool, labels.instanceType, labels.zone, labels.capacityType] as const;

/**
 * The labels that determine a node's NodePool and price: those of its NodeClaim. Other actors may relabel a Node, which
 * affects where kube-scheduler puts pods (`labels`), but not which nodes are removed (labels/what-is-believed).
 */
export function offeringLabelsOf({
  claim,
  labels: own,
}: Pick<CompiledNode, 'claim' | 'labels'>): Readonly<Record<string, string>> {
  if (claim === undefined) return own;
  const found: Record<string, string> = {};
  for (const key of offeringKeys) {
    const value = claim.metadata.labels?.[key] ?? own[key];
    if (value !== undefined) found[key] = value;
  }
  return found;
}

/** All nodes and NodeClaims in flight, initialized ones first, then by name (scheduling/existing-nodes-first). */
export function viewNodes(objects: ClusterObjects, removed: ReadonlySet<string> | undefined): CompiledNode[] {
  const claimOf = claimFinder(objects.nodeClaims ?? []);
  const views: CompiledNode[] = [];
  const taken = new Set<NodeClaim>();
  for (const node of objects.nodes ?? []) {
    const claim = claimOf(node);
    if (claim !== undefined) taken.add(claim);
    views.push(nodeView(node, claim, removed));
  }
  for (const claim of objects.nodeClaims ?? []) if (!taken.has(claim)) views.push(claimView(claim, removed));
  return views.sort((a, b) => Number(b.initialized) - Number(a.initialized) || compareText(a.name, b.name));
}

function claimFinder(claims: readonly NodeClaim[]): (node: Node) => NodeClaim | undefined {
  const byId = new Map<string, NodeClaim>();
  const byNode = new Map<string, NodeClaim>();
  for (const claim of claims) {
    if (claim.status?.providerID !== undefined) byId.set(claim.status.providerID, claim);
    if (claim.status?.nodeName !== undefined) byNode.set(claim.status.nodeName, claim);
  }
  return (node) => byId.get(node.spec?.providerID ?? '') ?? byNode.get(nameOf(node));
}

function nodeView(node: Node, claim: NodeClaim | undefined, removed: ReadonlySet<string> | undefined): CompiledNode {
  const name = nameOf(node);
  const own = normalised({ [labels.hostname]: name, ...node.metadata.labels });
  const isManaged = claim !== undefined || labels.nodePool in own;
  const initialized = !isManaged || own[labels.initialized] === 'true';
  // Before registration the Node lacks some labels and taints: use the NodeClaim's.
  const promised = initialized || own[labels.registered] === 'true' ? undefined : claim;
  return {
    name,
    node,
    ...(claim === undefined ? {} : { claim }),
    labels:
      promised !== undefined ? labelsOf(promised, own[labels.hostname]!) : isManaged ? { ...own, ...readyLabels } : own,
    taints: lastingTaints(node, { claim, initialized, promised: promised?.spec.taints ?? (promised && []) }),
    initialized,
    deleting: isDeleting(node) || (claim !== undefined && isDeleting(claim)) || removed?.has(name) === true,
    allocatable: allocatableOf(node, claim, initialized),
  };
}

function allocatableOf(
  { status }: Node,
  claim: NodeClaim | undefined,
  initialized: boolean,
): Readonly<Record<string, string>> {
  const reported = status?.allocatable ?? status?.capacity ?? {};
  return initialized ? reported : { ...reported, ...missing(reported, claim?.status?.allocatable) };
}

/** The NodeClaim's amounts for resources that the Node reports as zero or not at all. */
function missing(
  reported: Readonly<Record<string, string>>,
  promised: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const filled: Record<string, string> = {};
  for (const [name, quantity] of Object.entries(promised ?? {})) {
    const own = lookUp(reported, name);
    if (own === undefined || /^0+[a-zA-Z]*$/.test(own)) filled[name] = quantity;
  }
  return filled;
}

function claimView(claim: NodeClaim, removed: ReadonlySet<string> | undefined): CompiledNode {
  const { spec, status } = claim;
  const name = nameOf(claim);
  return {
    name,
    claim,
    labels: labelsOf(claim, name),
    taints: spec.taints ?? [],
    initialized: false,
    deleting: isDeleting(claim) || removed?.has(name) === true,
    allocatable: status?.allocatable ?? status?.capacity ?? requestedOf(claim),
  };
}

/** The known labels of its future Node. */
function labelsOf({ metadata, spec }: NodeClaim, host: string): Readonly<Record<string, string>> {
  const known: Record<string, string> = { [labels.hostname]: host };
  for (const { key, operator, values } of spec.requirements) {
    if (operator === 'In' && values?.length === 1) known[key] = values[0]!;
  }
  return normalised({ ...known, ...metadata.labels, ...readyLabels });
}

/** The room of a NodeClaim without an instance: at least its requests, whatever instance type is launched. */
function requestedOf({ spec }: NodeClaim): Readonly<Record<string, string>> {
  return spec.resources?.requests ?? {};
}

function normalised(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let result = given;
  for (const key of Object.keys(given)) {
    const current = normaliseKey(key);
    if (current !== key && lookUp(given, current) === undefined) result = { ...result, [current]: lookUp(given, key)! };
  }
  return result;
}

/** The taint that the node controller adds to a cordoned node. kube-scheduler avoids the node even before. */
const cordoned: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** `promised`: the NodeClaim whose taints replace the Node's. */
function lastingTaints(
  node: Node,
  {
    claim,
    initialized,
    promised,
  }: {
    readonly claim: NodeClaim | undefined;
    readonly initialized: boolean;
    readonly promised: readonly Taint[] | undefined;
  },
): readonly Taint[] {
  const given = promised ?? withoutTaint(node, knownTaints.steer);
  const isMarked = given.some(({ key }) => key === cordoned.key);
  const taints = node.spec?.unschedulable === true && !isMarked ? [...given, cordoned] : given;
  if (initialized) return taints;
  const startup = claim?.spec.startupTaints ?? [];
  // Without a NodeClaim no controller registers the node, which removes this taint.
  const lasts = (taint: Taint): boolean =>
    isSameTaint(taint, knownTaints.unregistered) ? claim === undefined : !isKnownEphemeral(taint);
  return taints.filter((taint) => lasts(taint) && !startup.some((known) => isSameTaint(known, taint)));
}
