import { annotations, labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Resources } from '../../core/resources.js';
import type { Compiled } from '../compile/compiled.js';
import { sortFew } from '../sort-few.js';
import type { Constraint } from '../compile/key-space.js';
import { alikeText, portText, type Launchable } from '../compile/launchables.js';
import type { HostPort } from '../../core/host-ports.js';
import { nodeClassLabel } from '../compile/pools.js';
import { freshValue } from '../compile/fresh-value.js';
import type { Row } from '../compile/universe.js';
import { emptyList } from '../lists.js';
import { fullName, nameOf } from '../names.js';
import { rowUse, typeUse, type PoolLimit } from '../compile/pool-limits.js';
import type { Feasibility } from '../place/feasibility.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { Member } from '../place/part.js';
import {
  intersect,
  operatorOf,
  requirementOf,
  satisfiedBy,
  single,
  type Requirement,
} from '../requirements/requirement.js';
import { normaliseKey } from '../../core/label-aliases.js';
import { join, writeRequirements, type Requirements } from '../requirements/requirements.js';
import type { PlannedClaim } from '../types.js';
import type { Likeness, Likenesses } from './likeness.js';
import { listTypes, neededTypes, type Listing } from './listing.js';
import { whyOf } from './why.js';
import { lookUp } from '../../core/own.js';

/** What the claims of one pass share. */
export interface ClaimContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  /** What limits leave beyond the cheapest type of every claim; listing larger types uses it up. */
  readonly limits: readonly PoolLimit[];
  /** By the requirements of a claim: what it may launch. */
  readonly candidates: Map<string, Candidates>;
  /** Where given, claims that are alike but for their pods are described once. */
  readonly described?: Likenesses<Description | undefined>;
}

/** What a claim says but for its pods. */
type Description = Omit<PlannedClaim, 'pods'>;

interface Candidates {
  readonly joint: Requirements;
  readonly types: readonly Launchable[];
  readonly settled: Map<string, Settled>;
}

/**
 * Writes a claim out: joint requirements, and every type that can hold it, cheapest first (node-claims/type-list). Every type listed
 * holds the pods in every offering that the requirements leave open. Undefined when the pool's minValues cannot be met.
 */
export function describeClaim(context: ClaimContext, claim: OpenClaim): PlannedClaim | undefined {
  const { described, limits } = context;
  const row = context.compiled.universe.rows[claim.row]!;
  const usage = usageOf(context, claim);
  // Where a limit is near, what a claim may list depends on those before it.
  const isLimited = limits.some(({ pool }) => pool === row.profile.pool.name);
  if (described === undefined || isLimited) return withPods(describe(context, claim, row, usage), claim);
  return withPods(
    described.of(likenessOf(context, claim, usage), () => describe(context, claim, row, usage)),
    claim,
  );
}

function withPods(description: Description | undefined, { members }: OpenClaim): PlannedClaim | undefined {
  if (description === undefined) return undefined;
  const { nodePool, ...rest } = description;
  return { nodePool, pods: podNames(members), ...rest };
}

/** In order. Pods of a class mostly are so already, and most claims are for pods of one namespace: only their own names are looked at then. */
function podNames(members: readonly Member[]): string[] {
  const { namespace } = members[0]!.podClass.shape;
  if (members.some(({ podClass }) => podClass.shape.namespace !== namespace)) {
    return members.flatMap(({ pods }) => pods.map(fullName)).sort(compareText);
  }
  const names: string[] = [];
  let isSorted = true;
  for (const { pods } of members) {
    for (const pod of pods) {
      const name = nameOf(pod);
      if (isSorted && names.length > 0 && name < names[names.length - 1]!) isSorted = false;
      names.push(name);
    }
  }
  if (!isSorted) sortFew(names, compareText);
  for (let k = 0; k < names.length; k++) names[k] = `${namespace}/${names[k]!}`;
  return names;
}

function likenessOf({ compiled, feasibility }: ClaimContext, claim: OpenClaim, usage: Float64Array): Likeness {
  const { row, members, capacityType } = claim;
  const { values } = compiled.universe.rows[row]!.profile;
  const constraints: number[] = [];
  for (const { level } of members) {
    const constraint = feasibility.matching(level, values)?.index ?? -1;
    if (!constraints.includes(constraint)) constraints.push(constraint);
  }
  if (constraints.length > 1) constraints.sort((a, b) => a - b);
  const ports = portText(contestedPorts(compiled, claim));
  return { row, capacityType: capacityType ?? '', keys: keysOf(claim), usage, constraints, ports };
}

/** The keys that must not stay open, in order. */
function keysOf({ pinnedKeys }: OpenClaim): readonly string[] {
  if (pinnedKeys.size === 0) return emptyList;
  return pinnedKeys.size === 1 ? [...pinnedKeys] : [...pinnedKeys].sort();
}

function describe(context: ClaimContext, claim: OpenClaim, row: Row, usage: Float64Array): Description | undefined {
  const { compiled } = context;
  const { candidates, listing } = chooseTypes(context, claim, row, usage);
  if (listing.listed.length === 0) return undefined;
  const relaxed = listing.short.size > 0;
  if (relaxed && compiled.input.settings.minValuesPolicy === 'Strict') return undefined;
  reserveLimits(context, row.type, listing.listed);
  const cheapest = listing.listed[0]!.cheapest;
  const { written, chosen } = settle(compiled, candidates, row, listing);
  return {
    nodePool: row.profile.pool.name,
    instanceTypes: listing.listed.map(({ type }) => type.name),
    cheapest: {
      instanceType: cheapest.type.name,
      zone: cheapest.zone,
      capacityType: cheapest.capacityType,
      pricePerHour: cheapest.offering.price,
      ...(cheapest.offering.commitment === undefined ? {} : { commitment: cheapest.offering.commitment.name }),
    },
    requirements: written,
    labels: chosen,
    annotations: marksOf(listing.listed, relaxed),
    requests: requestsOf(context, usage, listing.listed),
    why: whyOf(compiled, cheapest, usage, listing.listed.length),
  };
}

/**
 * What the claim needs of each limit beyond its cheapest type, so that the types for its pool's minValues stay within it:
 * undefined where there are not enough of them, and then `describeClaim` cannot write it out.
 */
export function varietyReserve(context: ClaimContext, claim: OpenClaim): readonly number[] | undefined {
  const row = context.compiled.universe.rows[claim.row]!;
  const { listing } = chooseTypes(context, claim, row, usageOf(context, claim));
  if (listing.listed.length === 0) return undefined;
  const isStrict = context.compiled.input.settings.minValuesPolicy === 'Strict';
  if (listing.short.size > 0) return isStrict ? undefined : context.limits.map(() => 0);
  const extra = (limit: PoolLimit, type: InstanceType): number =>
    limit.pool === row.profile.pool.name ? Math.max(0, typeUse(limit, type) - typeUse(limit, row.type)) : 0;
  const cost = (type: InstanceType): number =>
    context.limits.reduce((sum, limit) => sum + extra(limit, type) / Math.max(1, limit.remaining), 0);
  const needed = neededTypes(listing.listed, row.profile.pool.requirements, cost);
  return context.limits.map((limit) => Math.max(0, ...needed.map((type) => extra(limit, type))));
}

function usageOf({ compiled, feasibility }: ClaimContext, { members }: OpenClaim): Float64Array {
  const usage = new Float64Array(compiled.dimensions.count);
  for (const { podClass, pods } of members) {
    const demand = feasibility.demand(podClass);
    for (let d = 0; d < usage.length; d++) usage[d] = usage[d]! + demand[d]! * pods.length;
  }
  return usage;
}

/** The types for the claim; pinned to the chosen offering where a daemon of some other one would not fit beside the pods. */
function chooseTypes(context: ClaimContext, claim: OpenClaim, row: Row, usage: Float64Array): Chosen {
  const keys = keysOf(claim);
  const open = listOn(context, claim, usage, keys);
  const price = open.listing.listed[0]?.cheapest.offering.price ?? Infinity;
  if (price <= row.offering.price || (claim.capacityType !== undefined && price < Infinity)) return open;
  return listOn(context, claim, usage, [...new Set([...keys, labels.zone, labels.capacityType])]);
}

interface Chosen {
  readonly candidates: Candidates;
  readonly listing: Listing;
}

function listOn(context: ClaimContext, claim: OpenClaim, usage: Float64Array, keys: readonly string[]): Chosen {
  const { compiled } = context;
  const row = compiled.universe.rows[claim.row]!;
  const pins = pinsOf(compiled, row, keys);
  if (claim.capacityType !== undefined) pins.values.set(labels.capacityType, single(claim.capacityType));
  const candidates = candidatesFor(context, claim, row, pins);
  const admits = (candidate: Launchable): boolean => withinLimits(context, row, candidate);
  const most = compiled.input.settings.listedTypes;
  return { candidates, listing: listTypes(candidates.types, usage, row.profile.pool.requirements, most, admits) };
}

/** The cheapest way to launch the claim under this capacity type. */
export function cheapestUnder(context: ClaimContext, claim: OpenClaim, capacityType: string): Row | undefined {
  const { compiled } = context;
  if (claim.pinnedKeys.has(labels.capacityType)) {
    const row = compiled.universe.rows[claim.row]!;
    return row.capacityType === capacityType ? row : undefined;
  }
  const pinned = { ...claim, capacityType };
  const { listing } = listOn(context, pinned, usageOf(context, claim), keysOf(claim));
  return listing.listed[0]?.cheapest;
}

/** What must not stay open. */
interface Pins {
  /** By key: as the claim says it. */
  readonly values: Map<string, Requirement>;
  /** Keys, by index, in whose values every type listed is like the row. */
  readonly alike: readonly number[];
}

/** Values that may stand for all that nothing tells apart are not written: types are picked by them. */
function pinsOf(compiled: Compiled, row: Row, keys: readonly string[]): Pins {
  const values = new Map<string, Requirement>();
  const alike: number[] = [];
  for (const key of keys) {
    const index = compiled.space.find(key);
    const isOffered = key === labels.zone || key === labels.capacityType;
    if (index !== undefined && !isOffered && !compiled.space.isExact(index)) {
      alike.push(index);
      continue;
    }
    const value = valueAt(compiled, row, key);
    if (value !== undefined) values.set(key, single(value));
  }
  return { values, alike };
}

/** The pool's requirements with those of every pod; of a pod's alternatives, the first that the chosen row satisfies. */
function candidatesFor(
  { compiled, feasibility, candidates }: ClaimContext,
  claim: OpenClaim,
  row: Row,
  pins: Pins,
): Candidates {
  const constraints = new Set<Constraint>();
  for (const { level } of claim.members) {
    const constraint = feasibility.matching(level, row.profile.values);
    if (constraint !== undefined && constraint.keys.length > 0) constraints.add(constraint);
  }
  const { pool, reservation } = row.profile;
  const ordered = [...constraints].sort((a, b) => a.index - b.index);
  const pinText = [...pins.values].map(([key, { values }]) => `${key}=${values[0]!}`).join();
  const { alike } = pins;
  const ports = contestedPorts(compiled, claim);
  const text = `${pool.index} ${reservation ?? ''} ${ordered.map(({ index }) => index).join()} ${pinText}${alikeText(alike, row.profile)}${portText(ports)}`;
  let known = candidates.get(text);
  if (known === undefined) {
    const joint = join(
      pool.requirements,
      ...ordered.map(({ requirements }) => requirements),
      pins.values,
      reserved(row),
    );
    candidates.set(
      text,
      (known = {
        joint,
        types: compiled.launchables.of(compiled.space, joint, row, { alike, ports }),
        settled: new Map(),
      }),
    );
  }
  return known;
}

const noPorts: readonly HostPort[] = [];

/** The host ports of its pods that DaemonSets may want too, in the order of their text. */
function contestedPorts({ offers }: Compiled, { members }: OpenClaim): readonly HostPort[] {
  if (members.every(({ podClass }) => podClass.shape.hostPorts.length === 0)) return noPorts;
  const found = new Map<string, HostPort>();
  for (const { podClass } of members) {
    for (const port of offers.contested(podClass.shape.hostPorts)) found.set(portText([port]), port);
  }
  return [...found].sort(([a], [b]) => compareText(a, b)).map(([, port]) => port);
}

function valueAt({ space }: Compiled, row: Row, key: string): string | undefined {
  if (key === labels.zone && row.zone !== '') return row.zone;
  if (key === labels.capacityType && row.capacityType !== '') return row.capacityType;
  const index = space.find(key);
  return index === undefined ? undefined : row.profile.values[index];
}

/** A claim on a reservation is pinned to it (reserved-capacity/pinned). */
function reserved(row: Row): Requirements {
  if (row.profile.reservation === undefined) return new Map();
  const pins = new Map<string, Requirement>();
  for (const { key, operator, values } of row.offering.requirements) {
    const name = normaliseKey(key);
    const pinned = name === labels.capacityType || name.endsWith('capacity-reservation-id');
    if (pinned && operator === 'In') pins.set(name, requirementOf('In', values));
  }
  return pins;
}

/**
 * Whether launching the candidate in place of the row's own type would stay within what the limits leave. What is put first is launched
 * mostly: it must use no more of a commitment than the plan counts.
 */
function withinLimits({ limits }: ClaimContext, row: Row, { type, cheapest }: Launchable): boolean {
  for (const limit of limits) {
    const isCovering = limit.reservation !== undefined && limit.reservation === row.profile.reservation;
    if (!isCovering && limit.pool !== row.profile.pool.name) continue;
    const more = isCovering
      ? rowUse(cheapest, limit) - rowUse(row, limit)
      : typeUse(limit, type) - typeUse(limit, row.type);
    const isFirst = isCovering && cheapest.offering.price < row.offering.price;
    if (more > (isFirst ? 0 : limit.remaining)) return false;
  }
  return true;
}

function reserveLimits({ limits }: ClaimContext, chosen: InstanceType, listed: readonly Launchable[]): void {
  for (const limit of limits) {
    if (limit.pool === undefined || listed[0]!.cheapest.profile.pool.name !== limit.pool) continue;
    const most = Math.max(...listed.map(({ type }) => typeUse(limit, type)));
    limit.remaining -= Math.max(0, most - typeUse(limit, chosen));
  }
}

/** What a claim carries of its requirements; the same for all claims that may launch alike. */
interface Settled {
  readonly written: PlannedClaim['requirements'];
  readonly chosen: Readonly<Record<string, string>>;
}

function settle(compiled: Compiled, candidates: Candidates, row: Row, { listed, short }: Listing): Settled {
  const offered = distinct(listed, ({ capacityTypes }) => capacityTypes);
  offered.delete('');
  let text = `${row.profile.index}`;
  for (const each of offered) text += ` ${each}`;
  for (const [key, count] of short) text += ` ${key}=${count}`;
  let settled = candidates.settled.get(text);
  if (settled === undefined) {
    candidates.settled.set(text, (settled = settleAnew(compiled, candidates.joint, row, { offered, short })));
  }
  return settled;
}

/**
 * The requirements as the NodeClaim carries them: capacity types narrowed to what is offered, keys that no instance type
 * decides settled on one value, minValues lowered to what is met.
 */
function settleAnew(
  compiled: Compiled,
  joint: Requirements,
  row: Row,
  { offered, short }: { offered: ReadonlySet<string>; short: ReadonlyMap<string, number> },
): Settled {
  const requirements = new Map(joint);
  const chosen: Record<string, string> = {};
  if (offered.size > 0) narrowTo(requirements, labels.capacityType, [...offered]);
  const nodeClass = nodeClassLabel(row.profile.pool.object)?.key;
  const template = row.profile.pool.object.spec.template.metadata?.labels;
  for (const [key, requirement] of joint) {
    if (compiled.wellKnown.has(key) || key === nodeClass || lookUp(template, key) !== undefined) continue;
    if (row.type.requirements.some((each) => each.key === key)) continue;
    const value = chooseValue(compiled, key, requirement, row);
    if (value === undefined) continue;
    requirements.set(key, single(value));
    chosen[key] = value;
  }
  for (const [key, minValues] of short) requirements.set(key, { ...requirements.get(key)!, minValues });
  leaveTypesOpen(requirements);
  boundByValues(requirements);
  return { written: writeRequirements(requirements), chosen };
}

/** The types are listed by themselves; how many of them there must be is still said. */
function leaveTypesOpen(requirements: Map<string, Requirement>): void {
  const minValues = requirements.get(labels.instanceType)?.minValues;
  if (minValues === undefined) requirements.delete(labels.instanceType);
  else requirements.set(labels.instanceType, { ...requirementOf('Exists', []), minValues });
}

/**
 * The API server refuses minValues beyond the values of an In (node-claims/min-values-within-values): where the pods' rules decide the zone, say, the
 * claim is for that zone, however many the pool would choose from.
 */
function boundByValues(requirements: Map<string, Requirement>): void {
  for (const [key, requirement] of requirements) {
    const { minValues, values } = requirement;
    if (minValues === undefined || operatorOf(requirement) !== 'In' || minValues <= values.length) continue;
    requirements.set(key, { ...requirement, minValues: values.length });
  }
}

function narrowTo(requirements: Map<string, Requirement>, key: string, values: readonly string[]): void {
  const offered = requirementOf('In', values);
  const before = requirements.get(key);
  requirements.set(key, before === undefined ? offered : intersect(before, offered));
}

function chooseValue(compiled: Compiled, key: string, requirement: Requirement, row: Row): string | undefined {
  const index = compiled.space.find(key);
  const known = index === undefined ? undefined : row.profile.values[index];
  if (known !== undefined && satisfiedBy(requirement, known)) return known;
  if (operatorOf(requirement) === 'In') return requirement.values[0];
  if (operatorOf(requirement) === 'DoesNotExist') return undefined;
  return freshValue(requirement, new Set());
}

function marksOf(listed: readonly Launchable[], relaxed: boolean): Record<string, string> {
  const marks: Record<string, string> = {};
  if (relaxed) marks[annotations.minValuesRelaxed] = 'true';
  for (const { type, cheapest } of listed) {
    if (type.capacityOverlayApplied === true) marks[annotations.capacityOverlayApplied] = 'true';
    if (cheapest.offering.priceOverlayApplied === true) marks[annotations.priceOverlayApplied] = 'true';
  }
  return marks;
}

function requestsOf({ compiled }: ClaimContext, usage: Float64Array, listed: readonly Launchable[]): Resources {
  const overheads = distinct(listed, ({ overheads: own }) => own);
  const requests: Record<string, number> = {};
  for (let d = 0; d < usage.length; d++) {
    let least = Infinity;
    for (const overhead of overheads) if (overhead[d]! < least) least = overhead[d]!;
    if (usage[d]! + least > 0) requests[compiled.dimensions.names[d]!] = usage[d]! + least;
  }
  return requests;
}

/** What is in the lists of the types, in order; most have the list of the one before. */
function distinct<T>(listed: readonly Launchable[], listOf: (one: Launchable) => readonly T[]): Set<T> {
  const found = new Set<T>();
  let last: readonly T[] | undefined;
  for (const one of listed) {
    const list = listOf(one);
    if (list === last) continue;
    last = list;
    for (const each of list) found.add(each);
  }
  return found;
}
