import { restrictedLabel } from '../../api/karpenter/requirement-rules.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { lookUp } from '../../core/own.js';
import { compareText, listedNames, counted } from '../../core/text.js';
import { formatResource } from '../../core/quantities.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { satisfies, type Constraint } from '../compile/key-space.js';
import { minValuesRulesOf } from '../compile/min-values.js';
import { holdsOne, portsFree } from '../compile/offers.js';
import { newNodeLabels } from '../compile/nodes.js';
import { contradictoryKey, type Asked, type Pool } from '../compile/pools.js';
import { untolerated } from '../../core/taints.js';
import type { Profile } from '../compile/universe.js';
import { askerOf, contradiction, limitShortfall, minValuesShortfall } from './shortfalls.js';
import { keyKeepingOut, whyNoInstanceType } from './pool-types.js';
import { offeringTest, unavailableBlocker, type OfferingTest } from './unavailable.js';
import type { Feasibility } from '../place/feasibility.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import { probableKey } from '../requirements/typo.js';
import {
  describeRequirement,
  intersect,
  isImpossible,
  operatorOf,
  satisfiedBy,
  type Requirement,
} from '../requirements/requirement.js';
import { clashingKey } from '../requirements/requirements.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Blocker, Cause } from '../types.js';
import { nameOf } from '../../core/names.js';

/** The input of blockers. */
interface BlockerContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  /** Remaining limits after the plan. */
  readonly limits: readonly PoolLimit[];
}

/** What placement found out about pods of a class. */
interface KnownTopology {
  /** The topology rule that excluded the last of them, if one did. */
  readonly known: Blocker | undefined;
  /** Whether their topology rules admit a domain; if so, a limit keeps them out of it. */
  readonly isAdmitted: boolean;
}

/**
 * Why no node takes pods of a class: the first blocker in each NodePool, in order of weight. Computed once per class,
 * not per pod.
 */
export function blockersOf(context: BlockerContext, podClass: PodClass, topology: KnownTopology): Blocker[] {
  const { compiled } = context;
  const invalid = compiled.invalid.get(podClass);
  if (invalid !== undefined) {
    return [{ reason: 'Invalid', subject: invalid.subject, message: `${invalid.subject}: ${invalid.message}` }];
  }
  const profiles = new Map(compiled.pools.map((pool): [Pool, Profile[]] => [pool, []]));
  for (const profile of compiled.universe.profiles) profiles.get(profile.pool)!.push(profile);
  const blockers = [...profiles].map((own) => poolBlocker(context, podClass, own, topology));
  const level = lastLevel(compiled, podClass);
  for (const skipped of compiled.skippedPools) {
    const { name, message } = skipped;
    const unfit =
      whyNotFor(compiled, level, skipped) ??
      clashBlocker(compiled, podClass, level, skipped) ??
      unknownLabel(compiled, podClass, level, skipped);
    blockers.push(unfit ?? { nodePool: name, reason: 'NotReady', message: `NodePool ${name} ${message}` });
  }
  return blockers.length > 0 ? blockers : [{ reason: 'NotReady', message: noPoolText(compiled) }];
}

function noPoolText({ input: { objects } }: Compiled): string {
  const names = objects.nodePools.map(nameOf).sort(compareText);
  if (names.length === 0) return 'there is no NodePool to launch a node from';
  return `there is no NodePool that launches nodes for pods: static ones (${listedNames(names)}) keep spec.replicas nodes`;
}

/**
 * Reasons in the order of how near a pod is to fitting: a NodePool that only lacks room is meant for such pods, and one
 * that no instance type satisfies is for none.
 */
const nearestFirst: readonly Cause['reason'][] = [
  ...(['Limits', 'Topology', 'MinValues', 'Offerings', 'Resources', 'NotReady'] as const),
  ...(['HostPorts', 'Volumes', 'Requirements', 'Taints', 'Invalid'] as const),
];
const mostReasons = 3;

/**
 * One sentence for people, from the blockers of all pools. Pools with the same message are grouped, the nearest first;
 * those beyond the first few reasons are counted.
 */
export function sentence(blockers: readonly Blocker[]): string {
  const byMessage = new Map<string, string[]>();
  for (const { nodePool, message } of [...blockers].sort(byDistance)) {
    const pools = nodePool === undefined ? [] : [nodePool];
    byMessage.set(message, [...(byMessage.get(message) ?? []), ...pools]);
  }
  const groups = [...byMessage];
  const others = groups.slice(mostReasons).flatMap(([, pools]) => pools);
  const parts = groups
    .slice(0, mostReasons)
    .map(([message, pools]) => (pools.length === 0 ? message : `${named(pools)}: ${message}`));
  if (others.length > 0) parts.push(`${counted(others.length, 'more NodePool')} for other reasons`);
  return parts.join('; ');
}

/** Pools that the pod itself excludes come last. */
const distanceOf = ({ reason, subject }: Blocker): number =>
  subject === labels.nodePool ? nearestFirst.length : nearestFirst.indexOf(reason);
const byDistance = (a: Blocker, b: Blocker): number => distanceOf(a) - distanceOf(b);

function named(pools: readonly string[]): string {
  const more = pools.length > 3 ? ` and ${counted(pools.length - 3, 'more NodePool')}` : '';
  return `${pools.slice(0, 3).join(', ')}${more}`;
}

/** Whether the pod asks for other NodePools by name, or does not tolerate the NodePool's taints. */
function whyNotFor(compiled: Compiled, level: Level, { name: nodePool, taints }: Asked): Blocker | undefined {
  const others = poolsAskedFor(compiled, level.constraints, nodePool);
  if (others !== undefined) {
    const message = `the pod asks for ${labels.nodePool} ${describeRequirement(others)}`;
    return { nodePool, reason: 'Requirements', subject: labels.nodePool, message };
  }
  const taint = untolerated(taints, level.tolerations, level.avoidsPreferred);
  if (taint === undefined) return undefined;
  const text = `${taint.key}${taint.value === undefined ? '' : `=${taint.value}`}:${taint.effect}`;
  return { nodePool, reason: 'Taints', subject: taint.key, message: `the pod does not tolerate the taint ${text}` };
}

/** A label that the pod asks for and no node of the NodePool would have. */
function unknownLabel(
  compiled: Compiled,
  podClass: PodClass,
  { constraints }: Level,
  { name: nodePool, requirements }: Asked,
): Blocker | undefined {
  for (const [label, asked] of constraints.at(-1)?.requirements ?? []) {
    const isOpen = compiled.wellKnown.has(label) || lookUp(newNodeLabels, label) !== undefined;
    if (isOpen || requirements.has(label) || satisfiedBy(asked, undefined)) continue;
    return { nodePool, ...labelCause(compiled, podClass, label, { asked, lacking: undefined }) };
  }
  return undefined;
}

function poolBlocker(
  context: BlockerContext,
  podClass: PodClass,
  [pool, own]: readonly [Pool, readonly Profile[]],
  topology: KnownTopology,
): Blocker {
  const { compiled } = context;
  const nodePool = pool.name;
  const level = lastLevel(compiled, podClass);
  const unfit = whyNotFor(compiled, level, pool);
  if (unfit?.subject === labels.nodePool) return unfit;
  const why = podClass.shape.refused?.pools.get(nodePool);
  if (why !== undefined) return { nodePool, reason: 'NotReady', message: why };
  if (unfit !== undefined) return unfit;
  if (own.length === 0) {
    const clash = clashBlocker(compiled, podClass, level, pool);
    if (clash !== undefined) return clash;
    const sold = unavailableBlocker(level, pool, compiled.wellKnown);
    if (sold !== undefined) return sold;
    if (!compiled.universe.compatible[pool.index]!)
      return { nodePool, reason: 'Invalid', message: noTypeText(pool, compiled.wellKnown) };
    const message = 'no instance type that its requirements allow has an available offering';
    return { nodePool, reason: 'Offerings', message };
  }
  const matching = own.filter((profile) => level.constraints.some((each) => satisfies(each, profile.values)));
  if (matching.length === 0) {
    return (
      unavailableBlocker(level, pool, compiled.wellKnown) ?? {
        nodePool,
        ...unmetCause(compiled, podClass, own, { pool, tests: [], who: 'no instance type' }),
      }
    );
  }
  const free = matching.filter((profile) => portsFree(compiled.offers.of(profile), podClass.shape.hostPorts));
  if (free.length === 0) {
    return { nodePool, ...portTaken };
  }
  const { feasibility } = context;
  const conflicts = free.map((profile) => feasibility.daemonConflict(podClass.shape, level, profile));
  const [conflict] = conflicts;
  if (conflict !== undefined && !conflicts.includes(undefined)) {
    return { nodePool, reason: 'Topology', subject: conflict.group.key, message: conflict.message };
  }
  return roomBlocker(
    context,
    podClass,
    free.filter((_, i) => conflicts[i] === undefined),
    topology,
  );
}

export const portTaken: Cause = { reason: 'HostPorts', message: 'a DaemonSet uses a host port that the pod asks for' };

function noTypeText({ object, types }: Pool, wellKnown: ReadonlySet<string>): string {
  const key = contradictoryKey(object);
  const settings = { wellKnownLabels: [...wellKnown], minValuesPolicy: 'BestEffort' as const };
  const why = key === undefined ? whyNoInstanceType(object, types, settings)?.why : `they leave no value for ${key}`;
  return `its requirements allow no instance type${why === undefined ? '' : `: ${why}`}`;
}

/**
 * The NodePools that the pod requests by name, if this pool is in none of its alternatives: other blockers are then
 * irrelevant.
 */
function poolsAskedFor(
  { space }: Compiled,
  alternatives: readonly Constraint[],
  name: string,
): Requirement | undefined {
  const asked = alternatives.map(({ keys, tests }) =>
    tests.find((test, i) => space.keys[keys[i]!] === labels.nodePool && !satisfiedBy(test, name)),
  );
  return asked.includes(undefined) ? undefined : asked.at(-1);
}

/** What excludes pods from a pool whose profiles admit them, other than the amount of resources. */
function roomBlocker(
  { compiled, feasibility, limits }: BlockerContext,
  podClass: PodClass,
  free: readonly Profile[],
  { known, isAdmitted }: KnownTopology,
): Blocker {
  const { pool } = free[0]!;
  const nodePool = pool.name;
  const demand = feasibility.demand(podClass);
  const level = lastLevel(compiled, podClass);
  const isVaried = feasibility.profiles(podClass.shape, level).some((profile) => profile.pool === pool);
  const isHeld = free.some((profile) => holdsOne(compiled.offers.of(profile), demand));
  if (!isVaried || !isHeld) {
    const short = minValuesShortfall(compiled, pool, free, demand);
    if (short !== undefined) return { nodePool, ...short };
    const holds = (type: InstanceType): boolean =>
      demand.every((wanted, d) => wanted <= compiled.offers.allocatable(type)[d]!);
    const sold = isHeld ? undefined : unavailableBlocker(level, pool, compiled.wellKnown, holds);
    return sold ?? resourceBlocker(compiled, pool, free, demand);
  }
  const short = limitShortfall(compiled, limits, free, demand);
  const isSpent = isAdmitted && short?.subject !== undefined;
  if (
    known !== undefined &&
    !isSpent &&
    (known.reason !== 'MinValues' || minValuesRulesOf(pool.requirements).length > 0)
  ) {
    return { ...known, nodePool };
  }
  if (short !== undefined) return { nodePool, ...short };
  return { nodePool, reason: 'Topology', message: 'its topology rules leave no place for it beside the other pods' };
}

/** A label for which the NodePool and the pod have no value in common, in each alternative of the pod. */
function clashBlocker(
  compiled: Compiled,
  podClass: PodClass,
  { constraints }: Level,
  { name, requirements }: Asked,
): Blocker | undefined {
  const keys = constraints.map((each) => clashingKey(each.requirements, requirements));
  const key = keys.at(-1);
  if (key === undefined || keys.includes(undefined)) return undefined;
  const asker = askerOf(compiled, podClass, key);
  const asked = constraints.at(-1)!.requirements.get(key)!;
  return { nodePool: name, ...clashOn(key, { given: requirements.get(key)!, asked, asker }) };
}

function clashOn(
  label: string,
  { given, asked, asker }: { readonly given: Requirement; readonly asked: Requirement; readonly asker: string },
): Cause {
  const message = `the NodePool asks for ${label} ${describeRequirement(given)}, and ${asker} for ${label} ${describeRequirement(asked)}`;
  return { reason: 'Requirements', subject: label, message };
}

/**
 * The first requirement of the pods that neither a profile satisfies nor one of these unavailable offerings; `who`: the
 * types, as subject of the sentence.
 */
export function unmetCause(
  compiled: Compiled,
  podClass: PodClass,
  profiles: readonly Profile[],
  { pool, tests, who }: { readonly pool?: Pool; readonly tests: readonly OfferingTest[]; readonly who: string },
): Cause {
  const constraint = lastLevel(compiled, podClass).constraints.at(-1);
  if (constraint === undefined) return contradiction(compiled, podClass);
  for (const [i, key] of constraint.keys.entries()) {
    const asked = constraint.tests[i]!;
    const label = compiled.space.keys[key]!;
    if (profiles.some(({ values }) => satisfiedBy(asked, values[key]))) continue;
    if (tests.some((allows) => allows(label, asked))) continue;
    const given = pool?.requirements.get(label);
    if (pool !== undefined && given !== undefined && isImpossible(intersect(given, asked)))
      return clashOn(label, { given, asked, asker: askerOf(compiled, podClass, label) });
    const isKnown =
      profiles.some(({ values }) => values[key] !== undefined) || tests.some((allows) => allows(label, anyValue));
    return labelCause(compiled, podClass, label, { asked, lacking: isKnown ? `${who} has` : undefined });
  }
  return { reason: 'Requirements', message: `${who} satisfies all requirements of the pod together` };
}

const anyValue: Requirement = { complement: true, values: [], absent: false };

/** The level without preferences: what keeps pods of the class from every node. */
export const lastLevel = ({ levelsByShape }: Compiled, { shape }: PodClass): Level =>
  levelsByShape[shape.index]!.at(-1)!;

/**
 * A label that the pod requests and no type offers; `lacking` starts the sentence if types have the label with other
 * values.
 */
function labelCause(
  compiled: Compiled,
  podClass: PodClass,
  label: string,
  { asked, lacking }: { readonly asked: Requirement; readonly lacking: string | undefined },
): Cause {
  const { wellKnown } = compiled;
  const asker = askerOf(compiled, podClass, label);
  const wanted = `${label} ${describeRequirement(asked)}`;
  const cause = (message: string): Cause => ({ reason: 'Requirements', subject: label, message });
  if (lookUp(newNodeLabels, label) !== undefined) {
    const isOfOne = label === labels.hostname && operatorOf(asked) !== 'DoesNotExist';
    if (isOfOne) return cause(`${asker} asks for an existing node: ${wanted}`);
    return cause(`every new node has label ${label}, and ${asker} asks for ${wanted}`);
  }
  if (lacking !== undefined) {
    return cause(`${lacking} ${wanted}${asker === 'the pod' ? '' : `, which ${asker} asks for`}`);
  }
  if (restrictedLabel(label, [...wellKnown]) !== undefined) {
    return cause(`label ${label} is reserved, and no NodePool may define it; ${asker} asks for ${wanted}`);
  }
  const meant = meantBy(compiled, label);
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
  const unknown = cause(`label ${label} is not known here${hint}; ${asker} asks for ${wanted}`);
  return meant === undefined ? unknown : { ...unknown, didYouMean: meant };
}

/** By NodePools, then by unknown label key: the known key that was probably meant. */
const meantKeys = new WeakMap<readonly Pool[], Map<string, string | undefined>>();

function meantBy({ wellKnown, pools }: Compiled, label: string): string | undefined {
  const known = meantKeys.get(pools) ?? new Map<string, string | undefined>();
  meantKeys.set(pools, known);
  if (!known.has(label)) {
    const keys = pools.flatMap(({ requirements }) => [...requirements.keys()]);
    known.set(label, probableKey(label, new Set([...wellKnown, ...keys])));
  }
  return known.get(label);
}

function resourceBlocker(
  compiled: Compiled,
  { name }: Pool,
  profiles: readonly Profile[],
  demand: Float64Array,
): Blocker {
  for (let d = 0; d < demand.length; d++) {
    const resource = compiled.dimensions.names[d]!;
    let largest = -Infinity;
    for (const profile of profiles) largest = Math.max(largest, compiled.offers.of(profile).largest[d]!);
    if (demand[d]! <= largest) continue;
    const amount = `${resource} ${formatResource(resource, demand[d]!)}`;
    const isThere = (): boolean =>
      profiles.some(({ rows }) => rows.some((row) => allocatableOf(compiled, row)[d]! >= demand[d]!));
    const message =
      largest > 0
        ? `${amount} exceeds ${whatIsLeft(compiled, profiles, d, largest)}`
        : isThere()
          ? `DaemonSets leave no room for ${amount} on the instance types that the pod may use`
          : `no instance type that the pod may use has ${resource}${whoseHaveIt(compiled, profiles[0]!.pool, d)}`;
    return { nodePool: name, reason: 'Resources', subject: resource, message };
  }
  return { nodePool: name, reason: 'Resources', message: 'no single instance type has enough of every resource' };
}

/**
 * The most that a new node leaves for pods of a resource. The node class determines the size of disks, equally for all
 * types except those that use their instance store.
 */
function whatIsLeft(compiled: Compiled, profiles: readonly Profile[], d: number, largest: number): string {
  const resource = compiled.dimensions.names[d]!;
  const isOfNodeClass = profiles.every((profile) => {
    const { rows, capacity, largest: all } = compiled.offers.of(profile);
    return rows.every((_, i) => capacity[i * all.length + d] === largest);
  });
  return resource === 'ephemeral-storage' && isOfNodeClass
    ? `what the disk of a new node leaves for pods, ${formatResource(resource, largest)}: the node class sizes it, whatever the type`
    : `what the largest type allowed leaves for pods, ${typeOfAmount(compiled, profiles, d, largest)}`;
}

/** The requirements of the pool that exclude the types which have the resource. */
function whoseHaveIt({ offers, wellKnown }: Compiled, { types, requirements }: Pool, d: number): string {
  const keptOut = new Map<string, number>();
  for (const type of types) {
    if (!(offers.allocatable(type)[d]! > 0)) continue;
    const tests = type.offerings.map((offering) => offeringTest(type, offering, requirements, wellKnown));
    const key = keyKeepingOut(requirements, tests);
    if (key !== undefined) keptOut.set(key, (keptOut.get(key) ?? 0) + 1);
  }
  const texts = [...keptOut].map(
    ([key, count]) =>
      `${key} ${describeRequirement(requirements.get(key)!)} leaves ${count} out ${count === 1 ? 'that has' : 'that have'} it`,
  );
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`;
}

function allocatableOf({ universe, offers }: Compiled, row: number): Float64Array {
  return offers.allocatable(universe.rows[row]!.type);
}

/** The first type that leaves this amount of the resource for pods. */
function typeOfAmount({ offers, universe }: Compiled, profiles: readonly Profile[], d: number, amount: number): string {
  for (const profile of profiles) {
    const { rows, capacity, largest } = offers.of(profile);
    if (largest[d] !== amount) continue;
    const row = rows.find((_, i) => capacity[i * largest.length + d] === amount);
    if (row !== undefined) return universe.rows[row]!.type.name;
  }
  return 'none';
}
