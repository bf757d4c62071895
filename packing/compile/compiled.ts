import { isBufferPod, isGated } from '../../core/pods.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { coreWellKnownLabels, labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { sortFew } from '../sort-few.js';
import { readAttachLimits, withAttachLimits, withAttachRequests, type AttachLimits } from './attach-limits.js';
import { admitWithinTerms, limitsOfPass } from './budget.js';
import { bufferPods } from './buffers.js';
import { Classes, inQueueOrder, selectorLabelKeys, type PodClass, type PodShape } from './classes.js';
import { readDaemons, type Daemon } from './daemons.js';
import { openKeysOf } from './crowded-keys.js';
import {
  highCardinalityKeys,
  runningAntiAffinityOf,
  mayKeepAway,
  newNodeKeys,
  undecidedKeys,
  type HighCardinalityTopology,
} from './high-cardinality-keys.js';
import { DefaultSpread } from './default-spread.js';
import { Dimensions } from './dimensions.js';
import { KeySpace, mostDomains } from './key-space.js';
import { relaxationLevels, type Level } from './relaxation-levels.js';
import { usualKeys } from './pod-terms.js';
import { newNodeLabels, viewNodes, type CompiledNode } from './nodes.js';
import type { LaunchableTypes } from './launchables.js';
import { minValuesRulesOf } from './min-values.js';
import type { Offers } from './offers.js';
import { QuantityReader } from './pod-requests.js';
import { inCanonicalOrder } from './catalogue-order.js';
import { considerPools, shapeRefusals, type Pool, type SkippedPool } from './pools.js';
import { Volumes } from './volumes.js';
import { coverageOf, type Coverage } from './coverage.js';
import { catalogueSupplyOf, coveredTypes, overlaidCatalogues, storeOf } from './stores.js';
import { unusedPools } from './unused-pools.js';
import type { Universe } from './universe.js';
import { mapped } from '../lists.js';
import { normaliseKey } from '../../core/labels.js';
import { type PoolLimit, poolLimits } from './pool-limits.js';
import type { PackingInput, Resume } from '../types.js';
import { lookUp } from '../../core/own.js';
import { comingAgain } from './moved-pods.js';
import { splitPods, findInvalid } from './split-pods.js';
import { nameOf, namespaceOf } from '../../core/names.js';

/** The input of a pass, compiled to classes, profiles and offers, from which pods are placed. */
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
  readonly launchables: LaunchableTypes;
  readonly classes: Classes;
  /** Classes of pods that need a place, largest first. */
  readonly queue: readonly PodClass[];
  /** The relaxation levels of each shape. */
  readonly levelsByShape: readonly (readonly Level[])[];
  /** Invalid pods by class, and why. */
  readonly invalid: ReadonlyMap<PodClass, { readonly subject: string; readonly message: string }>;
  readonly nodes: readonly CompiledNode[];
  /** Bound pods that still use resources, by node name. */
  readonly bound: ReadonlyMap<string, readonly Pod[]>;
  readonly wellKnown: ReadonlySet<string>;
  readonly volumes: Volumes;
  readonly attachLimits: AttachLimits;
  /** Remaining limits of NodePools and reservations that this pass may reach. */
  readonly limits: readonly PoolLimit[];
  /** The part of the staying nodes that commitments cover. */
  readonly coverage: Coverage;
  /** Pods left for the next pass. */
  readonly deferred: readonly Pod[];
  /** Pods that require a node outside all NodePools. */
  readonly ignored: readonly Pod[];
  /** Pods with scheduling gates. */
  readonly gated: readonly Pod[];
  readonly resume: Resume | undefined;
  /** Label keys that selectors refer to. */
  readonly labelKeys: readonly string[];
  /** Compares rows of the universe by price, then by name. */
  readonly compareRows: (a: number, b: number) => number;
}

/**
 * Compiles the input of a pass. `limits` bounds the terms of all pods together; pods beyond it are left for the next
 * pass.
 */
export function compile(input: PackingInput, limits = limitsOfPass): Compiled {
  const { objects, settings } = input;
  const dimensions = new Dimensions();
  const quantities = new QuantityReader();
  const space = new KeySpace();
  const nodes = viewNodes(objects, input.withoutNodes);
  const { pending: waiting, bound, ignored } = splitPods(input, nodes);
  for (const pod of bufferPods(objects)) waiting.push(pod);
  const considered = considerPools(objects.nodePools, input.catalogues, input.now);
  const highCardinality = highCardinalityOf(considered.pools, bound);
  const wellKnown = new Set([...coreWellKnownLabels, ...settings.wellKnownLabels]);
  const openKeys = openKeysOf(considered.pools, undecidedKeys(wellKnown, considered.pools));
  const options = { resume: input.resume, about: input.about, limits, openKeys, highCardinality };
  const { admitted: pending, deferred, resume } = admitWithinTerms(waiting, options);
  const defaults = new DefaultSpread(settings.defaultTopologySpread ?? [], objects);
  const volumes = new Volumes(objects, nodes);
  const templates = (objects.daemonSets ?? []).map(({ spec }) => spec.template);
  const labelKeys = keysRead([pending, templates, ...bound.values()], defaults.labelKeys(pending));
  const refusalsOf = shapeRefusals(objects.nodePools, input.now);
  const textOf = (pod: Pod): string => {
    const refused = refusalsOf(pod);
    const refusedText =
      refused === undefined ? '' : `R${[...refused.pools.keys()].join()}/${[...refused.nodes].join()}`;
    return volumes.text(pod) + defaults.text(pod) + (isBufferPod(pod) ? 'B' : '') + refusedText;
  };
  const attachLimits = readAttachLimits(objects.csiNodes, nodes);
  const again = comingAgain(objects);
  const attaching = withAttachRequests(volumes, attachLimits, pending);
  const asMoved = (pod: Pod): Pod => attaching(again(pod));
  const classes = classify(pending, new Classes(dimensions, quantities, labelKeys, textOf, { asMoved, refusalsOf }));
  const daemons = readDaemons(objects, space, dimensions, quantities);
  const taints = [...considered.pools, ...nodes].flatMap((each) => each.taints);
  const levelsByShape = mapped(classes.shapes, (shape) =>
    relaxationLevels(shape, space, {
      ignorePreferences: settings.preferencePolicy === 'Ignore',
      preferredTaints: taints.some(({ effect }) => effect === 'PreferNoSchedule'),
      defaultSpread: defaults.of(shape.exemplar),
      volumeAlternatives: volumes.needs(shape.exemplar).alternatives,
    }),
  );
  const topology = topologyKeys(levelsByShape, bound, daemons, { highCardinality, shapes: classes.shapes });
  noteKeys(space, considered.pools, { topology, nodes });
  dimensions.seal();
  const unused = unusedPools(considered.pools, levelsByShape, deferred.length > 0 ? 0 : undefined);
  const pass = { input, dimensions, space, classes, daemons, nodes, wellKnown, attachLimits };
  return {
    ...{
      ...pass,
      quantities,
      levelsByShape,
      bound,
      labelKeys,
      volumes,
      deferred,
      ignored,
      gated: objects.pods.filter(isGated),
      resume,
    },
    ...supplyOf(pass, considered.pools, { unused, pods: pending.length }),
    skippedPools: considered.skipped,
    queue: inQueueOrder(classes.all),
    invalid: findInvalid(classes.all, volumes),
  };
}

function classify(pending: readonly Pod[], classes: Classes): Classes {
  for (const pod of pending) classes.classify(pod);
  for (const { pods } of classes.all) if (pods.length > 1) sortByName(pods);
  return classes;
}

/** The nodes that can be launched for the pods of the pass, and the limits for them. */
function supplyOf(
  {
    input,
    dimensions,
    space,
    classes,
    daemons,
    nodes,
    wellKnown,
    attachLimits,
  }: Pick<Compiled, 'input' | 'dimensions' | 'space' | 'classes' | 'daemons' | 'nodes' | 'wellKnown' | 'attachLimits'>,
  considered: readonly Pool[],
  { unused, pods }: { readonly unused: ReadonlySet<Pool>; readonly pods: number },
): Pick<Compiled, 'pools' | 'universe' | 'offers' | 'launchables' | 'limits' | 'coverage' | 'compareRows'> {
  const labelsText = space.seal(newNodeKeys([...wellKnown, ...Object.keys(newNodeLabels)], considered));
  const coverage = coverageOf(input);
  const priced = pricedPools(input, considered, { coverage, unused }).map((pool) => {
    const types = unused.has(pool) ? pool.types : withAttachLimits(pool.types, attachLimits, dimensions.names);
    return types === pool.types ? pool : { ...pool, types };
  });
  const store = storeOf(priced, space, labelsText, { wellKnown, unused });
  const { pools, universe } = store;
  const limits = poolLimits({ pools, nodes, universe, coverage }, pods);
  const limited = new Set(limits.map(({ pool }) => pool ?? ''));
  const isRelaxed =
    input.settings.minValuesPolicy === 'BestEffort' &&
    pools.some(({ requirements }) => minValuesRulesOf(requirements).length > 0);
  const relaxedFor = isRelaxed ? classes.demands.map(({ amounts }) => dimensions.vector(amounts)) : undefined;
  const { offers, launchables } = catalogueSupplyOf(store, daemons, dimensions, { relaxedFor, limited });
  const compareRows: Compiled['compareRows'] = (a, b) => universe.rank[a]! - universe.rank[b]!;
  return { pools, universe, offers, launchables, limits, coverage, compareRows };
}

/**
 * The NodePools with their instance types, at prices with overlays, node costs and commitments. A NodePool that is not
 * used stays unchanged, so that its settings do not affect the plan.
 */
function pricedPools(
  input: PackingInput,
  pools: readonly Pool[],
  { coverage, unused }: { readonly coverage: Coverage; readonly unused: ReadonlySet<Pool> },
): readonly Pool[] {
  const { objects, catalogues, settings } = input;
  const { nodePools, nodeOverlays, disruptionPolicies } = objects;
  const { nodeCost } = settings;
  const names = new Set([...unused].map(({ name }) => name));
  const isUsed = (pool: NodePool): boolean => !names.has(nameOf(pool));
  const options = { policies: disruptionPolicies, nodeCost, isUsed };
  const overlaid = overlaidCatalogues(nodePools, catalogues, nodeOverlays, options);
  return pools.map((pool) => {
    if (unused.has(pool)) return pool;
    const types = inCanonicalOrder(coveredTypes(pool.object, overlaid.get(pool.name) ?? pool.types, coverage, input));
    return types === pool.types ? pool : { ...pool, types };
  });
}

/** Topology keys with very many values, and running pods with anti-affinity by one of them. */
function highCardinalityOf(pools: readonly Pool[], bound: Compiled['bound']) {
  const keys = highCardinalityKeys(
    pools.map(({ types }) => types),
    pools,
  );
  return { keys, runningAntiAffinity: runningAntiAffinityOf(bound.values(), keys) };
}

/** Adds keys other than those in pods' node terms: topology keys, and keys that NodePools decide. */
function noteKeys(
  space: KeySpace,
  pools: readonly Pool[],
  { topology, nodes }: { readonly topology: ReadonlySet<string>; readonly nodes: readonly CompiledNode[] },
): void {
  for (const key of topology) {
    space.keepValues(key);
    if (!pools.some(({ requirements }) => (requirements.get(key)?.values.length ?? 0) > mostDomains)) continue;
    for (const { labels: own } of nodes) {
      const value = lookUp(own, key);
      if (value !== undefined) space.noteOnNode(space.key(key), value);
    }
  }
  for (const { requirements } of pools) for (const key of requirements.keys()) space.key(key);
  space.key(labels.zone);
  space.key(labels.capacityType);
}

/** The label keys that selectors of these pods refer to, and those given, sorted. */
function keysRead(lists: readonly (readonly Pick<Pod, 'spec'>[])[], more: Iterable<string>): string[] {
  const keys = new Set(more);
  for (const pods of lists) for (const key of selectorLabelKeys(pods)) keys.add(key);
  return [...keys].sort();
}

/** Sorts by name; the pods of a class are in one namespace. */
function sortByName(pods: Pod[]): void {
  sortFew(pods, (a, b) => compareText(nameOf(a), nameOf(b)));
}

/**
 * Topology keys, without the hostname, of the rules of some level or of a running pod with anti-affinity. For running
 * pods, a term about an unusual key counts only if it may keep pods of these namespaces away, and a term about a
 * high-cardinality key only if it keeps some of these shapes away.
 */
function topologyKeys(
  levelsByShape: readonly (readonly Level[])[],
  bound: ReadonlyMap<string, readonly Pod[]>,
  daemons: readonly Daemon[],
  {
    highCardinality,
    shapes,
  }: { readonly highCardinality: HighCardinalityTopology; readonly shapes: readonly PodShape[] },
): Set<string> {
  const keys = new Set<string>();
  const note = ({ topologyKey }: Pick<TopologySpreadConstraint, 'topologyKey'>): void => {
    const key = normaliseKey(topologyKey);
    if (key !== labels.hostname) keys.add(key);
  };
  for (const [level] of levelsByShape) {
    level?.spread.forEach(note);
    level?.affinity.forEach(note);
    level?.preferredAffinity.forEach(note);
    level?.antiAffinity.forEach(note);
  }
  const isCounted = ({ topologyKey }: PodAffinityTerm): boolean => !highCardinality.keys.has(normaliseKey(topologyKey));
  const namespaces = new Set(shapes.map(({ namespace }) => namespace));
  for (const pods of bound.values()) {
    for (const pod of pods) {
      const isConcerned = namespaces.has(namespaceOf(pod));
      apartFrom(pod.spec).forEach((term) => {
        const isOfOthers = !isConcerned && (term.namespaces ?? term.namespaceSelector) === undefined;
        if (isOfOthers && !usualKeys.has(normaliseKey(term.topologyKey))) return;
        if (isCounted(term)) note(term);
      });
    }
  }
  for (const { spec } of daemons) apartFrom(spec).filter(isCounted).forEach(note);
  for (const running of highCardinality.runningAntiAffinity)
    if (shapes.some(({ exemplar }) => mayKeepAway(running, exemplar))) note(running.term);
  return keys;
}

const apartFrom = ({ affinity }: PodSpec): readonly PodAffinityTerm[] =>
  affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
