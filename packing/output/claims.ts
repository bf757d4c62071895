import { annotations, labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Resources } from '../../core/quantities.js';
import { attachPrefix } from '../compile/attach-limits.js';
import { shunnedText, type Launchable, type Launchables } from '../compile/launchables.js';
import type { Row } from '../compile/universe.js';
import { emptyList } from '../lists.js';
import { rowUse, typeUse, type PoolLimit } from '../compile/pool-limits.js';
import type { OpenClaim } from '../place/open-claim.js';
import { single } from '../requirements/requirement.js';
import type { PlannedClaim } from '../types.js';
import { listTypes, neededTypes, type Listing } from './listing.js';
import { whyOf } from './why.js';
import { writtenRequirements } from './claim-requirements.js';
import { candidatesFor, constraintsOf, pinsOf, shunnedProfiles } from './claim-candidates.js';
import { reservationsListed, spareReservations } from './spare-reservations.js';
import type { ClaimContext, ClaimDescription } from './claim-context.js';
import { fullName } from '../../core/names.js';

/**
 * Writes a claim: joint requirements, and every type that can hold it, cheapest first (node-claims/type-list). Every
 * listed type holds the pods in every offering that the requirements allow. Undefined if the minValues of the pool
 * cannot be met.
 */
export function describeClaim(context: ClaimContext, claim: OpenClaim): PlannedClaim | undefined {
  const { described, limits } = context;
  const row = context.compiled.universe.rows[claim.row]!;
  const usage = usageOf(context, claim);
  // Near a limit, what a claim may list depends on the claims before it.
  const { pool, reservation } = row.profile;
  const isLimited = reservation !== undefined || limits.some((limit) => limit.pool === pool.name);
  if (described === undefined || isLimited) return withPods(describe(context, claim, row, usage), claim);
  const text = descriptionText(context, claim, usage);
  if (!described.has(text)) described.set(text, describe(context, claim, row, usage));
  return withPods(described.get(text), claim);
}

function withPods(description: ClaimDescription | undefined, { members }: OpenClaim): PlannedClaim | undefined {
  if (description === undefined) return undefined;
  const { nodePool, ...rest } = description;
  return { nodePool, pods: members.flatMap(({ pods }) => pods.map(fullName)).sort(compareText), ...rest };
}

/** What determines the description of a claim, as text. */
function descriptionText({ compiled, feasibility }: ClaimContext, claim: OpenClaim, usage: Float64Array): string {
  const row = compiled.universe.rows[claim.row]!;
  const constraints = constraintsOf(feasibility, claim, row)
    .map(({ index }) => index)
    .join();
  const shunned = shunnedText(shunnedProfiles(compiled, feasibility, claim));
  return `${row.index} ${claim.capacityType ?? ''} ${keysOf(claim).join()} ${usage.join()} ${constraints}${shunned}`;
}

/** The keys that must be fixed to one value, in order. */
function keysOf({ pinnedKeys }: OpenClaim): readonly string[] {
  if (pinnedKeys.size === 0) return emptyList;
  return pinnedKeys.size === 1 ? [...pinnedKeys] : [...pinnedKeys].sort();
}

function describe(
  context: ClaimContext,
  claim: OpenClaim,
  row: Row,
  usage: Float64Array,
): ClaimDescription | undefined {
  const { compiled } = context;
  const { candidates, listing, beside } = withFallbacks(context, claim, row, usage);
  if (listing.listed.length === 0) return undefined;
  const relaxed = listing.short.size > 0;
  if (relaxed && compiled.input.settings.minValuesPolicy === 'Strict') return undefined;
  reserveLimits(context, row.type, listing.listed);
  for (const limit of context.limits) if (beside.includes(limit.reservation ?? '')) limit.remaining -= 1;
  const cheapest = listing.listed[0]!.cheapest;
  const { written, chosen } = writtenRequirements(compiled, candidates.joint, row, listing);
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
    annotations: annotationsOf(listing.listed, relaxed),
    requests: requestsOf(context, usage, listing.listed),
    why: whyOf(compiled, cheapest, usage, listing.listed.length),
  };
}

/**
 * What the claim needs of each limit beyond its cheapest type, so that the types for its pool's minValues stay within
 * the limit. Undefined if there are not enough types; `describeClaim` then fails too.
 */
export function minValuesReserve(context: ClaimContext, claim: OpenClaim): readonly number[] | undefined {
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

/**
 * The types for the claim; pinned to the chosen offering if a daemon of another offering would not fit beside the pods.
 */
function chooseTypes(context: ClaimContext, claim: OpenClaim, row: Row, usage: Float64Array): Chosen {
  const keys = keysOf(claim);
  const open = listOn(context, claim, usage, keys);
  const price = open.listing.listed[0]?.cheapest.offering.price ?? Infinity;
  if (price <= row.offering.price || (claim.capacityType !== undefined && price < Infinity)) return open;
  return listOn(context, claim, usage, [...new Set([...keys, labels.zone, labels.capacityType])]);
}

interface Chosen {
  readonly candidates: Launchables;
  readonly listing: Listing;
  /** Keys that must be fixed to one value. */
  readonly keys: readonly string[];
  /** Reservations under which the claim may be launched, in addition to that of its row. */
  readonly beside: readonly string[];
}

/**
 * The types for the claim. A claim on a reservation also lists reservations with instances that no other claim of the
 * plan needs, so that a launch falls back to them if EC2 refuses the first (reserved-capacity/fallbacks).
 */
function withFallbacks(context: ClaimContext, claim: OpenClaim, row: Row, usage: Float64Array): Chosen {
  const own = chooseTypes(context, claim, row, usage);
  const among = spareReservations(context, row);
  if (among.length === 0 || own.listing.listed.length === 0) return own;
  const all = listOn(context, claim, usage, own.keys, among);
  const beside = reservationsListed(context, row, all.listing.listed, { joint: all.candidates.joint, among });
  const open = listOn(context, claim, usage, own.keys, beside);
  const isThere = open.listing.listed.some(({ type }) => type === row.type);
  return beside.length === 0 || !isThere || open.listing.short.size > own.listing.short.size ? own : open;
}

function listOn(
  context: ClaimContext,
  claim: OpenClaim,
  usage: Float64Array,
  keys: readonly string[],
  beside: readonly string[] = emptyList,
): Chosen {
  const { compiled } = context;
  const row = compiled.universe.rows[claim.row]!;
  const pins = pinsOf(compiled, row, keys, beside);
  if (claim.capacityType !== undefined) pins.values.set(labels.capacityType, single(claim.capacityType));
  const candidates = candidatesFor(context, claim, row, pins);
  const admits = (candidate: Launchable): boolean => withinLimits(context, row, candidate);
  const most = compiled.input.settings.listedTypes;
  const listing = listTypes(candidates.types, usage, row.profile.pool.requirements, most, admits);
  return { candidates, listing, keys, beside };
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

/**
 * Whether launching the candidate instead of the row's type stays within the remaining limits. The first listed type is
 * launched in most cases: it must use no more of a commitment than the plan counts.
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

function annotationsOf(listed: readonly Launchable[], relaxed: boolean): Record<string, string> {
  const marks: Record<string, string> = {};
  if (relaxed) marks[annotations.minValuesRelaxed] = 'true';
  for (const { type, cheapest } of listed) {
    if (type.capacityOverlayApplied === true) marks[annotations.capacityOverlayApplied] = 'true';
    if (cheapest.offering.priceOverlayApplied === true) marks[annotations.priceOverlayApplied] = 'true';
  }
  return marks;
}

function requestsOf({ compiled }: ClaimContext, usage: Float64Array, listed: readonly Launchable[]): Resources {
  const overheads = new Set(listed.flatMap(({ overheads: own }) => own));
  const requests: Record<string, number> = {};
  for (let d = 0; d < usage.length; d++) {
    const resource = compiled.dimensions.names[d]!;
    if (resource.startsWith(attachPrefix)) continue;
    let least = Infinity;
    for (const overhead of overheads) if (overhead[d]! < least) least = overhead[d]!;
    if (usage[d]! + least > 0) requests[resource] = usage[d]! + least;
  }
  return requests;
}
