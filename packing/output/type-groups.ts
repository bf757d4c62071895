import { labels } from '../../api/labels.js';
import { formatResource } from '../../core/quantities.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { satisfies } from '../compile/key-space.js';
import type { Level } from '../compile/relaxation-levels.js';
import { portsFree } from '../compile/offers.js';
import type { Pool } from '../compile/pools.js';
import type { Profile } from '../compile/universe.js';
import type { Feasibility } from '../place/feasibility.js';
import { describeRequirement } from '../requirements/requirement.js';
import type { Blocker, Cause, TypesExplanation } from '../types.js';
import { lastLevel, portTaken, unmetCause } from './blockers.js';
import { keyKeepingOut } from './pool-types.js';
import { fixedKind, grouped } from './type-findings.js';
import type { FindingKind, TypeFinding } from './type-findings.js';
import { isAllowed, offeringTest, triedAgain, offeringValueOf, type OfferingTest } from './unavailable.js';

/** A type in a pool, with everything that does not depend on the pods. */
interface TypeInPool {
  readonly type: InstanceType;
  /** Profiles of its available offerings; equal lists of a pool are one object. */
  readonly profiles: readonly Profile[];
  /** By profile: what a node leaves for pods. */
  readonly allocatables: readonly Float64Array[];
  /** Offerings that are currently unavailable. */
  readonly excluded: readonly { readonly offering: Offering; readonly allows: OfferingTest }[];
  /** What excludes the type whatever the pods. */
  readonly refused: FindingKind | undefined;
}

/** How pods match a list of profiles. */
interface ProfileMatch {
  /** Whether any profile satisfies the requirements of the pods. */
  readonly matches: boolean;
  /** Indices of matching profiles whose DaemonSets leave the pods' host ports free. */
  readonly free: readonly number[];
}

interface TypesQuery {
  readonly podClass: PodClass;
  readonly level: Level;
  /** What excludes the pods from the pool as a whole. */
  readonly poolWide: FindingKind;
  readonly isTainted: boolean;
  readonly matches: Map<readonly Profile[], ProfileMatch>;
  readonly mismatches: Map<readonly Profile[], FindingKind>;
  readonly shortages: Map<string, FindingKind>;
}

/**
 * Explains the instance types of NodePools, once per class of pods. Caches everything that does not depend on the
 * class.
 */
export class TypeExplainer {
  private readonly typesByPool = new Map<Pool, readonly TypeInPool[]>();

  constructor(
    private readonly compiled: Compiled,
    private readonly feasibility: Feasibility,
  ) {}

  /** `blockers`: those of the class, by pool. */
  explain(podClass: PodClass, blockers: readonly Blocker[]): TypesExplanation {
    const level = lastLevel(this.compiled, podClass);
    const nodePools = this.compiled.pools.map((pool) => {
      const blocker = blockers.find(({ nodePool }) => nodePool === pool.name)!;
      const query: TypesQuery = {
        podClass,
        level,
        poolWide: poolWideKind(blocker),
        isTainted: blocker.reason === 'Taints',
        matches: new Map(),
        mismatches: new Map(),
        shortages: new Map(),
      };
      return {
        nodePool: pool.name,
        typeGroups: grouped(this.typesOf(pool).map((typeInPool) => this.find(query, typeInPool))),
      };
    });
    return { nodePools };
  }

  /**
   * The first cause that excludes one type, in the order in which NodePools are judged (scheduling/blocking-reason).
   */
  private find(query: TypesQuery, inPool: TypeInPool): TypeFinding {
    const { type, refused } = inPool;
    if (query.isTainted) return { type, kind: query.poolWide };
    if (refused !== undefined) return { type, kind: refused };
    const { matches, free } = this.matchOf(query, inPool.profiles);
    if (!matches) return unavailable(query, inPool) ?? { type, kind: this.mismatch(query, inPool) };
    if (free.length === 0) return { type, kind: portIsTaken };
    return this.shortage(query, inPool, free) ?? { type, kind: query.poolWide };
  }

  private matchOf({ podClass, level, matches }: TypesQuery, profiles: readonly Profile[]): ProfileMatch {
    let match = matches.get(profiles);
    if (match === undefined) {
      const matching = profiles.map(({ values }) => level.constraints.some((each) => satisfies(each, values)));
      const free = profiles.flatMap((profile, i) => {
        const runs = matching[i]! && portsFree(this.compiled.offers.of(profile), podClass.shape.hostPorts);
        return runs ? [i] : [];
      });
      matches.set(profiles, (match = { matches: matching.includes(true), free }));
    }
    return match;
  }

  private typesOf(pool: Pool): readonly TypeInPool[] {
    let typesInPool = this.typesByPool.get(pool);
    if (typesInPool === undefined) {
      const { typeRuns, rows } = this.compiled.universe;
      const runs = new Map(typeRuns[pool.index]!.map((run) => [run.type, run]));
      const lists = new Map<string, readonly Profile[]>();
      typesInPool = pool.types.map((type) => {
        const run = runs.get(type);
        const own = run === undefined ? [] : rows.slice(run.from, run.to).map(({ profile }) => profile);
        const distinct = [...new Set(own)];
        const text = distinct.map(({ index }) => index).join();
        const profiles = lists.get(text) ?? distinct;
        lists.set(text, profiles);
        return this.typeInPool(pool, type, profiles);
      });
      this.typesByPool.set(pool, typesInPool);
    }
    return typesInPool;
  }

  private typeInPool(pool: Pool, type: InstanceType, profiles: readonly Profile[]): TypeInPool {
    const { offers, wellKnown } = this.compiled;
    const testOf = (offering: Offering): OfferingTest => offeringTest(type, offering, pool.requirements, wellKnown);
    const allocatable = offers.allocatable(type);
    return {
      type,
      profiles,
      allocatables: profiles.map((profile) => allocatable.map((amount, d) => amount - offers.of(profile).overhead[d]!)),
      excluded: type.offerings
        .filter(({ available }) => !available)
        .map((offering) => ({ offering, allows: testOf(offering) }))
        .filter(({ allows }) => isAllowed(pool.requirements, allows)),
      refused: profiles.length > 0 ? undefined : refusal(pool, type, testOf),
    };
  }

  /** The first label that the pods require and no offering of the type has. */
  private mismatch({ podClass, mismatches }: TypesQuery, { profiles, excluded }: TypeInPool): FindingKind {
    const tests = excluded.map(({ allows }) => allows);
    const make = (): FindingKind =>
      fixedKind(unmetCause(this.compiled, podClass, profiles, { tests, who: 'none of them' }));
    if (tests.length > 0) return make();
    let kind = mismatches.get(profiles);
    if (kind === undefined) mismatches.set(profiles, (kind = make()));
    return kind;
  }

  /** The first resource of which the type leaves too little for one pod. */
  private shortage(
    { podClass, shortages }: TypesQuery,
    { type, allocatables }: TypeInPool,
    free: readonly number[],
  ): TypeFinding | undefined {
    const demand = this.feasibility.demand(podClass);
    if (free.some((i) => allocatables[i]!.every((left, d) => left >= demand[d]!))) return undefined;
    const d = demand.findIndex((wanted, k) => free.every((i) => allocatables[i]![k]! < wanted));
    if (d < 0) return { type, kind: noTypeHasAll };
    const resource = this.compiled.dimensions.names[d]!;
    const leaves = Math.max(...free.map((i) => allocatables[i]![d]!));
    const text = `Resources ${resource} ${leaves > 0}`;
    let kind = shortages.get(text);
    if (kind === undefined) {
      shortages.set(text, (kind = { text, cause: (group) => shortOf(resource, demand[d]!, group) }));
    }
    return { type, kind, leaves };
  }
}

/** The requirement of the pool that excludes the type; undefined if the type is only unavailable. */
function refusal(
  { requirements }: Pool,
  type: InstanceType,
  testOf: (offering: Offering) => OfferingTest,
): FindingKind | undefined {
  const tests = type.offerings.map(testOf);
  if (tests.length === 0) return fixedKind({ reason: 'Offerings', message: 'none of their offerings is available' });
  const key = keyKeepingOut(requirements, tests);
  if (key !== undefined) {
    const asked = `${key} ${describeRequirement(requirements.get(key)!)}`;
    const message = `the requirements of the NodePool leave them out: ${asked}`;
    return fixedKind({ reason: 'Requirements', subject: key, message });
  }
  if (tests.some((allows) => isAllowed(requirements, allows))) return undefined;
  return fixedKind({ reason: 'Requirements', message: 'no offering satisfies all requirements of the NodePool' });
}

/** Offerings that the pods could use but that are currently unavailable. */
function unavailable({ level }: TypesQuery, { type, excluded }: TypeInPool): TypeFinding | undefined {
  const offerings = excluded
    .filter(({ allows }) => level.constraints.some(({ requirements }) => isAllowed(requirements, allows)))
    .map(({ offering }) => offering);
  if (offerings.length === 0) return undefined;
  const places = [...new Set(offerings.map(placeOf))].sort();
  const kind = {
    text: `Offerings ${places.join()}`,
    cause: (group: readonly TypeFinding[]) => withoutCapacity(places, group),
  };
  return { type, kind, offerings };
}

const portIsTaken = fixedKind(portTaken);
const noTypeHasAll = fixedKind({ reason: 'Resources', message: 'none of them has enough of every resource' });

/** A blocker of the whole pool applies to each of its types. */
function poolWideKind({ reason, subject, message }: Blocker): FindingKind {
  return fixedKind({ reason, ...(subject === undefined ? {} : { subject }), message });
}

const placeOf = (offering: Offering): string =>
  `${offeringValueOf(offering, labels.zone)} ${offeringValueOf(offering, labels.capacityType)}`;

function withoutCapacity(places: readonly string[], group: readonly TypeFinding[]): Cause {
  const offerings = group.flatMap((finding) => finding.offerings ?? []);
  const reasons = [...new Set(offerings.flatMap(({ unavailableReason }) => unavailableReason ?? []))].sort();
  const times = offerings.flatMap(({ unavailableUntil }) => unavailableUntil ?? []);
  const again = triedAgain(times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b)));
  const why = reasons.length === 0 ? '' : `: ${reasons.join(', ')}`;
  const zones = [...new Set(places.map((place) => place.split(' ')[0]!))];
  return {
    reason: 'Offerings',
    subject: zones.join(', '),
    message: `no capacity left in ${places.join(', ')}${why}${again.text}`,
    ...again.data,
  };
}

function shortOf(resource: string, wanted: number, group: readonly TypeFinding[]): Cause {
  const largest = group.reduce((best, each) => (each.leaves! > best.leaves! ? each : best));
  const leaves = `${formatResource(resource, largest.leaves!)} on ${largest.type.name}`;
  const message =
    largest.leaves! > 0
      ? `${resource} ${formatResource(resource, wanted)} exceeds what they leave for pods, at most ${leaves}`
      : `they have no ${resource} for pods`;
  return { reason: 'Resources', subject: resource, message };
}
