import type { NodeSelectorTerm, Pod, TopologySpreadConstraint } from '../api/kubernetes.js';
import { coreWellKnownLabels, labels } from '../api/labels.js';
import { compareText } from '../core/compare-text.js';
import { sortFew } from './sort-few.js';
import { bufferPods, isBufferPod } from './compile/buffers.js';
import { Classes, inQueueOrder, selectorLabelKeys, type PodClass } from './compile/classes.js';
import { readDaemons, type Daemon } from './compile/daemons.js';
import { DefaultSpread } from './compile/default-spread.js';
import { Dimensions } from './compile/dimensions.js';
import { KeySpace } from './compile/key-space.js';
import { buildLadder, type Level } from './compile/ladder.js';
import { isHeldBack, isReschedulable } from './compile/leaving-pods.js';
import { invalidTerm } from './compile/node-terms.js';
import { viewNodes, type NodeView } from './compile/nodes.js';
import type { Launchables } from './compile/launchables.js';
import { varietiesOf } from './compile/min-values.js';
import type { Offers } from './compile/offers.js';
import { isNodeBound, isTerminal, QuantityReader } from './compile/pod-requests.js';
import { considerPools, type Pool, type SkippedPool } from './compile/pools.js';
import { Volumes } from './compile/volumes.js';
import { overlaidCatalogues, shelfOf, storeOf } from './compile/stores.js';
import type { Universe } from './compile/universe.js';
import { mapped } from './lists.js';
import { normaliseKey } from './requirements/requirements.js';
import type { PoolLimit } from './place/pool-limit.js';
import { poolLimits } from './place/limits.js';
import { nameOf } from './names.js';
import type { PackingInput } from './types.js';

/** A pass's input, sorted into classes, profiles and offers: what placing works on. */
export interface Compiled {
  readonly input: PackingInput;
  readonly dimensions: Dimensions;
  readonly quantities: QuantityReader;
  readonly space: KeySpace;
  readonly pools: readonly Pool[];
  readonly skippedPools: readonly SkippedPool[];
  readonly daemons: readonly Daemon[];
  readonly universe: Universe;
  readonly offers: Offers;
  readonly launchables: Launchables;
  readonly classes: Classes;
  /** Classes of pods that need a place, largest first. */
  readonly queue: readonly PodClass[];
  /** By shape: the rungs of its relaxation ladder. */
  readonly ladders: readonly (readonly Level[])[];
  /** Pods refused up front, by class. */
  readonly invalid: ReadonlyMap<PodClass, { readonly subject: string; readonly message: string }>;
  readonly nodes: readonly NodeView[];
  /** Bound pods that still hold something, by node name. */
  readonly bound: ReadonlyMap<string, readonly Pod[]>;
  readonly wellKnown: ReadonlySet<string>;
  readonly volumes: Volumes;
  /** What NodePools and reservations may still be given, where that may run short. */
  readonly limits: readonly PoolLimit[];
  /** Labels that some selector reads. */
  readonly labelKeys: readonly string[];
  /** Orders rows of the universe by price, then by name. */
  readonly compareRows: (a: number, b: number) => number;
}

export function compile(input: PackingInput): Compiled {
  const { objects, settings } = input;
  const dimensions = new Dimensions();
  const quantities = new QuantityReader();
  const space = new KeySpace();
  const nodes = viewNodes(objects, input.withoutNodes);
  const { pending, bound } = splitPods(input, nodes);
  const buffers = bufferPods(objects);
  for (const pod of buffers) pending.push(pod);
  const defaults = new DefaultSpread(settings.defaultTopologySpread ?? [], objects);
  const volumes = new Volumes(objects);
  const labelKeys = [
    ...new Set([...selectorLabelKeys(buffers), ...selectorLabelKeys(objects.pods), ...defaults.labelKeys(pending)]),
  ].sort();
  const classes = new Classes(
    dimensions,
    quantities,
    labelKeys,
    (pod) => volumes.text(pod) + defaults.text(pod) + (isBufferPod(pod) ? 'B' : ''),
  );
  for (const pod of pending) classes.classify(pod);
  for (const { pods } of classes.all) if (pods.length > 1) sortByName(pods);
  const daemons = readDaemons(objects.daemonSets, space, dimensions, quantities);
  const catalogues = overlaidCatalogues(objects.nodePools, input.catalogues, objects.nodeOverlays);
  const considered = considerPools(objects.nodePools, catalogues);
  const wellKnown = new Set([...coreWellKnownLabels, ...settings.wellKnownLabels]);
  const preferredTaints = [...considered.pools, ...nodes].some(({ taints }) =>
    taints.some(({ effect }) => effect === 'PreferNoSchedule'),
  );
  const ladders = mapped(classes.shapes, (shape) =>
    buildLadder(shape, space, {
      ignorePreferences: settings.preferencePolicy === 'Ignore',
      preferredTaints,
      defaultSpread: defaults.of(shape.exemplar),
      volumeAlternatives: volumes.needs(shape.exemplar).alternatives,
    }),
  );
  for (const key of topologyKeys(ladders, bound)) space.keepValues(key);
  for (const pool of considered.pools) for (const key of pool.requirements.keys()) space.key(key);
  space.key(labels.zone);
  space.key(labels.capacityType);
  dimensions.seal();
  const store = storeOf(considered.pools, space, space.seal(), wellKnown);
  const { pools, universe } = store;
  const limits = poolLimits({ pools, nodes, universe }, pending.length);
  const limited = new Set(limits.map(({ pool }) => pool ?? ''));
  const isRelaxed =
    settings.minValuesPolicy === 'BestEffort' && pools.some(({ requirements }) => varietiesOf(requirements).length > 0);
  const relaxedFor = isRelaxed ? classes.demands.map(({ amounts }) => dimensions.vector(amounts)) : undefined;
  const { offers, launchables } = shelfOf(store, daemons, dimensions, { relaxedFor, limited });
  return {
    input,
    dimensions,
    quantities,
    space,
    pools,
    skippedPools: considered.skipped,
    daemons,
    universe,
    offers,
    launchables,
    classes,
    queue: inQueueOrder(classes.all),
    ladders,
    invalid: findInvalid(classes.all, volumes),
    nodes,
    bound,
    wellKnown,
    labelKeys,
    volumes,
    limits,
    compareRows: (a, b) => universe.rank[a]! - universe.rank[b]!,
  };
}

/** By namespace and name; the pods of a class share the namespace. */
function sortByName(pods: Pod[]): void {
  sortFew(pods, (a, b) => compareText(nameOf(a), nameOf(b)));
}

/** Pods that pend, and those that run by the name of their node; pods of leaving nodes pend. */
function splitPods(
  { objects, withoutNodes, now }: PackingInput,
  nodes: readonly NodeView[],
): { pending: Pod[]; bound: Map<string, Pod[]> } {
  const leaving = new Set(nodes.filter((node) => node.leaving).map(({ name }) => name));
  const budgets = objects.podDisruptionBudgets ?? [];
  const pending: Pod[] = [];
  const bound = new Map<string, Pod[]>();
  for (const pod of objects.pods) {
    if (isTerminal(pod)) continue;
    const { nodeName = '' } = pod.spec;
    if (nodeName === '') {
      if (isProvisionable(pod)) pending.push(pod);
    } else if (leaving.has(nodeName)) {
      const goes = withoutNodes?.has(nodeName) === true || !isHeldBack(pod, budgets, now);
      if (goes && isReschedulable(pod)) pending.push(pod);
    } else {
      const there = bound.get(nodeName);
      if (there === undefined) bound.set(nodeName, [pod]);
      else there.push(pod);
    }
  }
  return { pending, bound };
}

/** Whether nodes are launched for the pod while it has none (section 2.1). */
function isProvisionable(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp !== undefined || isNodeBound(pod)) return false;
  const { schedulingGates = [] } = pod.spec;
  return schedulingGates.length === 0 && (pod.status?.nominatedNodeName ?? '') === '' && !shunsNodePools(pod);
}

/** Whether the pod asks for a node of no NodePool, whatever its alternatives, and so is none of ours (section 2.1). */
function shunsNodePools({ spec }: Pod): boolean {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const shuns = ({ matchExpressions }: NodeSelectorTerm): boolean =>
    matchExpressions?.some(({ key, operator }) => key === labels.nodePool && operator === 'DoesNotExist') === true;
  return terms.length > 0 && terms.every(shuns);
}

function findInvalid(
  classes: readonly PodClass[],
  volumes: Volumes,
): Map<PodClass, { subject: string; message: string }> {
  const invalid = new Map<PodClass, { subject: string; message: string }>();
  for (const each of classes) {
    const { spec } = each.shape.exemplar;
    if (each.demand.error !== undefined) {
      invalid.set(each, { subject: 'spec.containers.resources', message: each.demand.error });
      continue;
    }
    const wrong = invalidTerm(spec) ?? volumes.needs(each.shape.exemplar).error;
    if (wrong !== undefined) invalid.set(each, wrong);
    else if ((spec.resourceClaims?.length ?? 0) > 0) {
      invalid.set(each, { subject: 'spec.resourceClaims', message: 'dynamic resource allocation is not supported' });
    }
  }
  return invalid;
}

/** Topology keys, the host name apart, that some rung refers to. */
function topologyKeys(ladders: readonly (readonly Level[])[], bound: ReadonlyMap<string, readonly Pod[]>): Set<string> {
  const keys = new Set<string>();
  const note = ({ topologyKey }: Pick<TopologySpreadConstraint, 'topologyKey'>): void => {
    const key = normaliseKey(topologyKey);
    if (key !== labels.hostname) keys.add(key);
  };
  for (const [level] of ladders) {
    level?.spread.forEach(note);
    level?.affinity.forEach(note);
    level?.preferredAffinity.forEach(note);
    level?.antiAffinity.forEach(note);
  }
  for (const pods of bound.values()) {
    for (const { spec } of pods) {
      spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.forEach(note);
    }
  }
  return keys;
}
