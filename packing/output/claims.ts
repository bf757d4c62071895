import { labels } from '../../api/labels.js';
import type { Resources } from '../../core/resources.js';
import type { Compiled } from '../compiled.js';
import { compareText } from '../compare.js';
import { podName } from '../compile/classes.js';
import type { Constraint } from '../compile/key-space.js';
import { satisfies } from '../compile/key-space.js';
import { nodeClassLabel } from '../compile/pools.js';
import { freshValue, type Row } from '../compile/universe.js';
import type { PoolLimit } from '../place/bin-problem.js';
import type { Feasibility } from '../place/feasibility.js';
import type { Member } from '../place/part.js';
import {
  intersect,
  operatorOf,
  requirementOf,
  satisfiedBy,
  single,
  type Requirement,
} from '../requirements/requirement.js';
import { join, writeRequirements, type Requirements } from '../requirements/requirements.js';
import type { PlannedClaim } from '../types.js';
import { whyOf } from './why.js';

/** A node to launch, in the engine's terms. */
export interface OpenClaim {
  /** The cheapest row that holds it. */
  readonly row: number;
  readonly members: readonly Member[];
  /** Topology keys that must not stay open. */
  readonly pinnedKeys: ReadonlySet<string>;
}

/** What the claims of one pass share. */
export interface ClaimContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly limits: readonly PoolLimit[];
  /** Rows by price within a pool, by a set of requirements: claims with equal requirements share a list. */
  readonly rowLists: Map<string, readonly number[]>;
}

/** Writes a claim out: joint requirements, and every type that can hold it, cheapest first (section 2.10). */
export function describeClaim(context: ClaimContext, claim: OpenClaim): PlannedClaim {
  const { compiled } = context;
  const row = compiled.universe.rows[claim.row]!;
  const { pool } = row.profile;
  const usage = usageOf(context, claim);
  const joint = jointRequirements(context, claim, row);
  const rows = fittingRows(context, joint, row, usage);
  const listed = listTypes(rows, compiled, pool.requirements);
  const cheapest = compiled.universe.rows[rows[0] ?? claim.row]!;
  const launchable = rows.map((index) => compiled.universe.rows[index]!).filter(({ type }) => listed.has(type.name));
  const { requirements, chosen } = settle(context, joint, row, launchable);
  return {
    nodePool: pool.name,
    pods: claim.members.flatMap(({ pods }) => pods.map(podName)).sort(compareText),
    instanceTypes: [...listed],
    cheapest: {
      instanceType: cheapest.type.name,
      zone: cheapest.zone,
      capacityType: cheapest.capacityType,
      pricePerHour: cheapest.offering.price,
    },
    requirements: writeRequirements(requirements),
    labels: chosen,
    annotations: {},
    requests: requestsOf(context, usage, launchable),
    why: whyOf(compiled, cheapest, usage, launchable),
  };
}

function usageOf({ compiled, feasibility }: ClaimContext, { members }: OpenClaim): Float64Array {
  const usage = new Float64Array(compiled.dimensions.count);
  for (const { podClass, pods } of members) {
    const demand = feasibility.demand(podClass);
    for (let d = 0; d < usage.length; d++) usage[d] = usage[d]! + demand[d]! * pods.length;
  }
  return usage;
}

/** The pool's requirements with those of every pod; of a pod's alternatives, the first that the chosen row satisfies. */
function jointRequirements(
  { feasibility, compiled }: ClaimContext,
  { members, pinnedKeys }: OpenClaim,
  row: Row,
): Requirements {
  const constraints = new Set<Constraint>();
  const pinned = new Map<string, Requirement>();
  for (const { level } of members) {
    const constraint = feasibility.matching(level, row.profile.values);
    if (constraint !== undefined) constraints.add(constraint);
  }
  for (const key of pinnedKeys) {
    const value = row.profile.values[compiled.space.find(key)!];
    if (value !== undefined) pinned.set(key, single(value));
  }
  return join(row.profile.pool.requirements, ...[...constraints].map(({ requirements }) => requirements), pinned);
}

/** Rows of the claim's pool that satisfy its requirements and hold its pods, by price. */
function fittingRows(context: ClaimContext, joint: Requirements, row: Row, usage: Float64Array): number[] {
  const { compiled } = context;
  return rowsFor(context, joint, row).filter((index) => compiled.offers.holds(compiled.universe.rows[index]!, usage));
}

function rowsFor({ compiled, rowLists }: ClaimContext, joint: Requirements, row: Row): readonly number[] {
  const { pool, reservation } = row.profile;
  const key = `${pool.index} ${reservation ?? ''} ${JSON.stringify(writeRequirements(joint))}`;
  let rows = rowLists.get(key);
  if (rows === undefined) {
    const constraint = compiled.space.probe(joint);
    const found = compiled.universe.profiles
      .filter(
        (profile) =>
          profile.pool === pool && profile.reservation === reservation && satisfies(constraint, profile.values),
      )
      .flatMap((profile) => profile.rows);
    rows = found.sort((a, b) => compiled.compareRows(a, b));
    rowLists.set(key, rows);
  }
  return rows;
}

/** Names of the types to list, cheapest first, with enough different values where the pool asks for them. */
function listTypes(rows: readonly number[], compiled: Compiled, _pool: Requirements): Set<string> {
  const listed = new Set<string>();
  for (const row of rows) {
    if (listed.size === compiled.input.settings.listedTypes) break;
    listed.add(compiled.universe.rows[row]!.type.name);
  }
  return listed;
}

/**
 * The requirements as the NodeClaim carries them: capacity types and zones narrowed to what is offered, keys that no
 * instance type decides settled on one value.
 */
function settle(
  { compiled }: ClaimContext,
  joint: Requirements,
  row: Row,
  launchable: readonly Row[],
): { requirements: Requirements; chosen: Record<string, string> } {
  const requirements = new Map(joint);
  const chosen: Record<string, string> = {};
  const offered = [...new Set(launchable.map(({ capacityType }) => capacityType))].filter((value) => value !== '');
  if (offered.length > 0) narrowTo(requirements, labels.capacityType, offered);
  const nodeClass = nodeClassLabel(row.profile.pool.object)?.key;
  for (const [key, requirement] of joint) {
    if (compiled.wellKnown.has(key) || key === nodeClass || decidedByType(row, key)) continue;
    const fixed = row.profile.pool.object.spec.template.metadata?.labels?.[key];
    if (fixed !== undefined) continue;
    const value = chooseValue(compiled, key, requirement, row);
    if (value === undefined) continue;
    requirements.set(key, single(value));
    chosen[key] = value;
  }
  requirements.delete(labels.instanceType);
  return { requirements, chosen };
}

function narrowTo(requirements: Map<string, Requirement>, key: string, values: readonly string[]): void {
  const offered = requirementOf('In', values);
  const before = requirements.get(key);
  requirements.set(key, before === undefined ? offered : intersect(before, offered));
}

const decidedByType = ({ type }: Row, key: string): boolean => type.requirements.some((each) => each.key === key);

function chooseValue(compiled: Compiled, key: string, requirement: Requirement, row: Row): string | undefined {
  const index = compiled.space.find(key);
  const known = index === undefined ? undefined : row.profile.values[index];
  if (known !== undefined && satisfiedBy(requirement, known)) return known;
  if (operatorOf(requirement) === 'In') return requirement.values[0];
  if (operatorOf(requirement) === 'DoesNotExist') return undefined;
  return freshValue(requirement, new Set());
}

function requestsOf({ compiled }: ClaimContext, usage: Float64Array, launchable: readonly Row[]): Resources {
  const requests: Record<string, number> = {};
  const overheads = [...new Set(launchable.map(({ profile }) => compiled.offers.of(profile).overhead))];
  for (let d = 0; d < usage.length; d++) {
    const least = overheads.length === 0 ? 0 : Math.min(...overheads.map((overhead) => overhead[d]!));
    if (usage[d]! + least > 0) requests[compiled.dimensions.names[d]!] = usage[d]! + least;
  }
  return requests;
}
