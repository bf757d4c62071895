import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Pod, Taint } from '../../api/kubernetes.js';
import { labels, taints as knownTaints } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import { withoutTaint } from '../../core/taints.js';
import { nameOf } from '../names.js';
import { normaliseKey } from '../requirements/requirements.js';
import type { ClusterObjects } from '../types.js';

/** A node, or a NodeClaim whose node has not registered yet, before its amounts are counted. */
export interface NodeView {
  readonly name: string;
  readonly node?: Node;
  readonly claim?: NodeClaim;
  readonly labels: Readonly<Record<string, string>>;
  /** Taints that keep pods away for good: those of a start-up or of a drain that is under way are left out (section 2.4). */
  readonly taints: readonly Taint[];
  readonly initialized: boolean;
  /** Being deleted, or assumed gone: takes no pods, and its own pods need a place. */
  readonly leaving: boolean;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Whether the node is one of a NodePool. */
export function isManaged({
  claim,
  labels: own,
}: {
  claim?: NodeClaim | undefined;
  labels: NodeView['labels'];
}): boolean {
  return claim !== undefined || labels.nodePool in own;
}

/** Pods by the name of their node. */
export type PodsByNode = ReadonlyMap<string, readonly Pod[]>;

/** Every node and in-flight claim, initialised ones first, then by name (section 2.3). */
export function viewNodes(objects: ClusterObjects, without: ReadonlySet<string> | undefined): NodeView[] {
  const claimOf = claimFinder(objects.nodeClaims ?? []);
  const views: NodeView[] = [];
  const taken = new Set<NodeClaim>();
  for (const node of objects.nodes ?? []) {
    const claim = claimOf(node);
    if (claim !== undefined) taken.add(claim);
    views.push(nodeView(node, claim, without));
  }
  for (const claim of objects.nodeClaims ?? []) if (!taken.has(claim)) views.push(claimView(claim, without));
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

function nodeView(node: Node, claim: NodeClaim | undefined, without: ReadonlySet<string> | undefined): NodeView {
  const name = nameOf(node);
  const nodeLabels = normalised({ [labels.hostname]: name, ...node.metadata.labels });
  const initialized = !isManaged({ claim, labels: nodeLabels }) || nodeLabels[labels.initialized] === 'true';
  return {
    name,
    node,
    ...(claim === undefined ? {} : { claim }),
    labels: nodeLabels,
    taints: lastingTaints(node, claim, initialized),
    initialized,
    leaving: isLeaving(node) || (claim !== undefined && isLeaving(claim)) || without?.has(name) === true,
    allocatable: allocatableOf(node, claim, initialized),
  };
}

const isLeaving = ({ metadata }: Node | NodeClaim): boolean => metadata.deletionTimestamp !== undefined;

function allocatableOf(
  { status }: Node,
  claim: NodeClaim | undefined,
  initialized: boolean,
): Readonly<Record<string, string>> {
  const reported = status?.allocatable ?? status?.capacity ?? {};
  return initialized ? reported : { ...reported, ...missing(reported, claim?.status?.allocatable) };
}

/** What the claim promises of each resource that the node reports as zero or not at all. */
function missing(
  reported: Readonly<Record<string, string>>,
  promised: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const filled: Record<string, string> = {};
  for (const [name, quantity] of Object.entries(promised ?? {})) {
    const own = reported[name];
    if (own === undefined || /^0+[a-zA-Z]*$/.test(own)) filled[name] = quantity;
  }
  return filled;
}

function claimView(claim: NodeClaim, without: ReadonlySet<string> | undefined): NodeView {
  const { metadata, spec, status } = claim;
  const name = nameOf(claim);
  const known: Record<string, string> = { [labels.hostname]: name };
  for (const { key, operator, values } of spec.requirements) {
    if (operator === 'In' && values?.length === 1) known[key] = values[0]!;
  }
  return {
    name,
    claim,
    labels: normalised({ ...known, ...metadata.labels }),
    taints: spec.taints ?? [],
    initialized: false,
    leaving: isLeaving(claim) || without?.has(name) === true,
    allocatable: status?.allocatable ?? status?.capacity ?? {},
  };
}

function normalised(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let result = given;
  for (const key of Object.keys(given)) {
    const current = normaliseKey(key);
    if (current !== key && given[current] === undefined) result = { ...result, [current]: given[key]! };
  }
  return result;
}

const ephemeral: readonly { readonly key: string; readonly effect: string }[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' },
  knownTaints.unregistered,
];

/** What the node controller adds to a cordoned node; the scheduler keeps pods away before it does. */
const cordoned: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

function lastingTaints(node: Node, claim: NodeClaim | undefined, initialized: boolean): readonly Taint[] {
  const given = withoutTaint(node, knownTaints.steer);
  const isMarked = given.some(({ key }) => key === cordoned.key);
  const taints = node.spec?.unschedulable === true && !isMarked ? [...given, cordoned] : given;
  if (initialized) return taints;
  const startup = claim?.spec.startupTaints ?? [];
  return taints.filter(
    ({ key, effect }) =>
      !key.startsWith('readiness.k8s.io/') &&
      !ephemeral.some((known) => known.key === key && known.effect === effect) &&
      !startup.some((known) => known.key === key && known.effect === effect),
  );
}
