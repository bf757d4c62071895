import type { DaemonSet, Node, Pod, PodSpec, Taint } from '../../api/kubernetes.js';
import { hostnameKey, labelsOf, poolKey, type MachineType, type Offer } from './catalogue.js';
import {
  type Claim,
  type Cluster,
  type Pool,
  isDaemonPod,
  isDaemonSet,
  isDeleting,
  isFinished,
  isMirror,
  isRegistered,
  lastingTaints,
} from './cluster.js';
import { fixedLabels, Prices } from './prices.js';
import { type Amounts, PodClasses, type PodClass, addAmounts, podKey, podRequests } from './pods.js';
import {
  type LabelDomain,
  domainMaySatisfy,
  domainSatisfies,
  nodeMatches,
  normalKey,
  untolerated,
  valueSatisfies,
} from './selectors.js';
import type { ClaimJson, PlanJson, Violation } from './types.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

/** One way in which a claim may be launched: a type, and one of its offers. */
export interface Launch {
  readonly type: MachineType;
  readonly offer: Offer;
  readonly labels: LabelDomain;
}

/** A node as it is once the plan is carried out. */
export interface FinalNode {
  readonly name: string;
  readonly index: number;
  readonly node?: Node;
  readonly claim?: ClaimJson;
  readonly pool?: Pool;
  /** Lasting taints. */
  readonly taints: readonly Taint[];
  /** Every value that a label may have there. */
  readonly labels: LabelDomain;
  /** For a claim: every way to launch it, cheapest first. */
  readonly launches: readonly Launch[];
  /** Pods that were there before, and stay. */
  readonly running: Map<PodClass, number>;
  /**
   * Those of them that are terminating: they still take room, but no rule of topology counts them (topology/rules). kube-scheduler passes
   * them over for spread, and for anti-affinity waits until they are gone.
   */
  readonly terminating: Map<PodClass, number>;
  /** Pods of DaemonSets that will run there: with every type and zone it may get (`sure`), or with some (`maybe`). */
  readonly daemons: Map<PodClass, 'sure' | 'maybe'>;
  /** Pods that the plan puts there. */
  readonly placed: Map<PodClass, number>;
  /** Names of the placed pods. */
  readonly podNames: readonly string[];
}

/** A node before pods are counted. */
type NewNode = Omit<FinalNode, 'index' | 'running' | 'terminating' | 'placed' | 'daemons'>;

export interface Placement {
  readonly cluster: Cluster;
  readonly types: ReadonlyMap<string, MachineType>;
  /** The types as overlays have them for a pool. */
  readonly typesOf: (pool: Pool) => ReadonlyMap<string, MachineType>;
  readonly nodes: readonly FinalNode[];
  /** Nodes that are being deleted, with the pods that the plan leaves there: those that are held back, and those that end with the node. */
  readonly draining: readonly FinalNode[];
  readonly classes: PodClasses;
}

const constraintsOf = (spec: PodSpec) => ({
  nodeSelector: spec.nodeSelector,
  required: spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
});

/** Whether a pod's node selector and required affinity hold for all labels that the node may get. */
export function fitsLabels(spec: PodSpec, labels: LabelDomain, name: string): boolean {
  return nodeMatches(labels, name, constraintsOf(spec), domainSatisfies);
}

/** Whether they may hold for something that the node can become. */
export function mayFitLabels(spec: PodSpec, labels: LabelDomain, name: string): boolean {
  return nodeMatches(labels, name, constraintsOf(spec), domainMaySatisfy);
}

/** Every available offer of the types that the requirements leave open, cheapest first. */
export function launchesOf(
  types: readonly MachineType[],
  fixed: ReadonlyMap<string, readonly string[]>,
  requirements: readonly WrittenRequirement[],
): Launch[] {
  const launches: Launch[] = [];
  for (const type of types) {
    for (const offer of type.offers) {
      if (!offer.available) continue;
      const labels = labelsOf(type, offer, fixed, requirements, valueSatisfies);
      const open = requirements.every((requirement) => {
        const key = normalKey(requirement.key);
        const values = offer.labels.get(key) ?? type.labels.get(key);
        return values === undefined || values.some((value) => valueSatisfies(value, requirement));
      });
      if (open && agrees(type, offer, fixed)) launches.push({ type, offer, labels });
    }
  }
  return launches.sort((a, b) => a.offer.price - b.offer.price);
}

/** Whether what a type decides is within the labels that its pool gives. */
function agrees(type: MachineType, offer: Offer, fixed: ReadonlyMap<string, readonly string[]>): boolean {
  return [...fixed].every(([key, wanted]) => {
    const values = offer.labels.get(key) ?? type.labels.get(key);
    return values === undefined || values.some((value) => wanted.includes(value));
  });
}

function unionOf(launches: readonly Launch[], fixed: ReadonlyMap<string, readonly string[]>): LabelDomain {
  const known = new Map<string, readonly string[] | undefined>();
  return (key) => {
    if (known.has(key)) return known.get(key);
    const values = new Set<string>();
    for (const launch of launches) for (const value of launch.labels(key) ?? []) values.add(value);
    const union = values.size === 0 ? fixed.get(key) : [...values];
    known.set(key, union);
    return union;
  };
}

/** What daemons take on a node of such labels and taints. */
export function daemonsOn(
  daemonSets: readonly DaemonSet[],
  labels: LabelDomain,
  taints: readonly Taint[],
  name: string,
): readonly DaemonSet[] {
  return daemonSets.filter((set) => {
    const spec = set.spec.template.spec;
    return (
      untolerated(taints, [...(spec.tolerations ?? []), ...daemonTolerations]) === undefined &&
      mayFitLabels(spec, labels, name)
    );
  });
}

/** The DaemonSet controller gives these to every daemon pod. */
const daemonTolerations = [
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/unschedulable',
].map((key) => ({ key, operator: 'Exists' as const }));

export function totalRequests(sets: readonly DaemonSet[]): Amounts {
  const total: Record<string, number> = {};
  for (const set of sets) addAmounts(total, podRequests(set.spec.template.spec));
  return total;
}

function countOf(pods: Map<PodClass, number>, podClass: PodClass): void {
  pods.set(podClass, (pods.get(podClass) ?? 0) + 1);
}

function countRunning(
  cluster: Cluster,
  classes: PodClasses,
  byName: ReadonlyMap<string, FinalNode>,
  leaves: (pod: Pod, node: FinalNode) => boolean,
): void {
  for (const pod of cluster.pods.values()) {
    const node = byName.get(pod.spec.nodeName ?? '');
    if (node === undefined || isFinished(pod) || leaves(pod, node)) continue;
    countOf(node.running, classes.of(pod));
    if (pod.metadata.deletionTimestamp !== undefined) countOf(node.terminating, classes.of(pod));
  }
}

/** The pods of DaemonSets that are still to come to a node that is new, or that starts. */
function daemonPodsOn(cluster: Cluster, classes: PodClasses, node: NewNode): FinalNode['daemons'] {
  const found = new Map<PodClass, 'sure' | 'maybe'>();
  const labels = node.node?.metadata.labels;
  if (node.claim === undefined && (labels?.[poolKey] === undefined || labels['karpenter.sh/initialized'] === 'true'))
    return found;
  const there = new Set(
    [...cluster.pods.values()]
      .filter((pod) => node.claim === undefined && pod.spec.nodeName === node.name && isDaemonPod(pod))
      .flatMap(({ metadata }) =>
        (metadata.ownerReferences ?? [])
          .filter(isDaemonSet)
          .map(({ name }) => `${metadata.namespace ?? 'default'}/${name}`),
      ),
  );
  for (const set of daemonsOn(cluster.daemonSets, node.labels, node.taints, node.name)) {
    const { namespace = 'default', name = '' } = set.metadata;
    if (there.has(`${namespace}/${name}`)) continue;
    const { template } = set.spec;
    const isSure =
      [node, ...node.launches].every(({ labels: each }) => daemonsOn([set], each, node.taints, node.name).length > 0) &&
      fitsLabels(template.spec, node.labels, node.name);
    const metadata = { ...template.metadata, name: `of DaemonSet ${name}`, namespace };
    found.set(classes.of({ apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec }), isSure ? 'sure' : 'maybe');
  }
  return found;
}

/** Whether a pod that no plan moves stays on its node. */
const staysIfKept = (pod: Pod): boolean =>
  !isFinished(pod) && !isDaemonPod(pod) && !isMirror(pod) && pod.metadata.deletionTimestamp === undefined;

/** Puts the plan's pods where it says, beside those that run; what cannot be understood is a violation. */
export function place(
  cluster: Cluster,
  types: ReadonlyMap<string, MachineType>,
  plan: PlanJson,
): { placement: Placement; violations: Violation[] } {
  const violations: Violation[] = [];
  const prices = new Prices(cluster, types);
  const typesOf = (pool: Pool): ReadonlyMap<string, MachineType> => prices.typesOf(pool);
  const classes = new PodClasses();
  const nodes: FinalNode[] = [];
  const add = (node: NewNode, to = nodes): FinalNode => {
    const full = {
      ...node,
      index: nodes.length,
      running: new Map<PodClass, number>(),
      daemons: daemonPodsOn(cluster, classes, node),
      terminating: new Map<PodClass, number>(),
      placed: new Map<PodClass, number>(),
    };
    for (const key of node.podNames) {
      const pod = cluster.pods.get(key);
      if (pod !== undefined) countOf(full.placed, classes.of(pod));
    }
    to.push(full);
    return full;
  };

  const planned = new Map(plan.existingNodes.map((entry) => [entry.node, entry.pods]));
  for (const entry of plan.existingNodes) {
    if (!cluster.nodes.has(entry.node)) {
      violations.push({ rule: 'unknown-node', node: entry.node, message: `there is no node ${entry.node}` });
    }
  }
  const moved = new Set([...plan.newNodeClaims, ...plan.existingNodes].flatMap(({ pods }) => pods));
  for (const { pod } of plan.unschedulable) moved.add(pod);
  const kept = new Set(
    [...cluster.pods.values()]
      .filter((pod) => staysIfKept(pod) && !moved.has(podKey(pod)))
      .map(({ spec }) => spec.nodeName),
  );
  const draining: FinalNode[] = [];
  const byName = new Map<string, FinalNode>();
  for (const [name, node] of cluster.nodes) {
    const isGoing = isDeleting(node, cluster.claims.get(name));
    const pods = planned.get(name) ?? [];
    if (isGoing && pods.length > 0) {
      violations.push({ rule: 'unknown-node', node: name, message: `node ${name} is being deleted` });
    }
    if (isGoing && !kept.has(name)) continue;
    byName.set(name, add(existingNode(cluster, name, node, isGoing ? [] : pods), isGoing ? draining : nodes));
  }
  plan.newNodeClaims.forEach((claim, i) => {
    const name = `claim-${i}`;
    const pool = cluster.pools.get(claim.nodePool);
    if (pool === undefined) {
      violations.push({ rule: 'unknown-pool', node: name, message: `there is no NodePool ${claim.nodePool}` });
      return;
    }
    add(newNode(typesOf(pool), pool, claim, name, violations));
  });
  const leaves = (pod: Pod, node: FinalNode): boolean => moved.has(podKey(pod)) && draining.includes(node);
  countRunning(cluster, classes, byName, leaves);
  return { placement: { cluster, types, typesOf, nodes, draining, classes }, violations };
}

/** What the node is labelled with, or will be once it is registered. */
function ownLabels(node: Node, claim: Claim | undefined): Map<string, readonly string[]> {
  const own = new Map<string, readonly string[]>();
  const isReady = isRegistered(node, claim);
  for (const { key, operator, values } of isReady ? [] : (claim?.spec?.requirements ?? [])) {
    if (operator === 'In' && values?.length === 1) own.set(normalKey(key), values);
  }
  const given = (isReady ? node : claim)?.metadata.labels ?? {};
  for (const [key, value] of Object.entries(given)) own.set(normalKey(key), [value]);
  return own;
}

function existingNode(cluster: Cluster, name: string, node: Node, podNames: readonly string[]): NewNode {
  const own = ownLabels(node, cluster.claims.get(name));
  if (!own.has(hostnameKey)) own.set(hostnameKey, [name]);
  return {
    name,
    node,
    pool: cluster.pools.get(node.metadata.labels?.[poolKey] ?? ''),
    taints: lastingTaints(node, cluster.claims.get(name)),
    labels: (key) => own.get(key),
    launches: [],
    podNames,
  };
}

function newNode(
  types: ReadonlyMap<string, MachineType>,
  pool: Pool,
  claim: ClaimJson,
  name: string,
  violations: Violation[],
): NewNode {
  const listed: MachineType[] = [];
  for (const typeName of claim.instanceTypes) {
    const type = types.get(typeName);
    if (type === undefined) {
      violations.push({ rule: 'unknown-type', node: name, message: `the catalogue has no type ${typeName}` });
    } else listed.push(type);
  }
  const fixed = fixedLabels(pool, claim, name);
  const launches = launchesOf(listed, fixed, claim.requirements ?? []);
  const launchable = new Set(launches.map((launch) => launch.type));
  for (const type of listed) {
    if (launchable.has(type)) continue;
    const message = `${type.name} has no available offering that the claim's requirements allow`;
    violations.push({ rule: launches.length === 0 ? 'no-offering' : 'listed-type', node: name, message });
  }
  return {
    name,
    claim,
    pool,
    taints: pool.spec.template.spec.taints ?? [],
    labels: unionOf(launches, fixed),
    launches,
    podNames: claim.pods,
  };
}
