import { labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
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
import { describeRequirement, satisfiedBy, type Requirement } from '../requirements/requirement.js';
import type { Blocker, Cause, TypesExplanation, TypeGroup } from '../types.js';
import { labelCause } from './blockers.js';
import { contradiction } from './shortfalls.js';
import { isAllowed, offeringTest, triedAgain, offeringValueOf, type OfferingTest } from './unavailable.js';
import { counted } from '../../core/plurals.js';

/** Names that a group of types lists, and families that its title names. */
const mostNames = 20;
const mostFamilies = 3;

/** One thing that stops types. */
interface Kind {
  /** Types of one text are one group. */
  readonly text: string;
  /** The cause, from all findings of the group. */
  readonly cause: (group: readonly Finding[]) => Cause;
}

/** What stops a type, with what its group adds up. */
interface Finding {
  readonly kind: Kind;
  readonly type: InstanceType;
  /** What the type leaves for pods of the resource that is short. */
  readonly leaves?: number;
  readonly offerings?: readonly Offering[];
}

/** A type in a pool, with what does not depend on the pods. */
interface Shelf {
  readonly type: InstanceType;
  /** Of its available offerings; equal lists of a pool are one object. */
  readonly profiles: readonly Profile[];
  /** What a node of each of them leaves for pods. */
  readonly rooms: readonly Float64Array[];
  /** Offerings that are excluded for now. */
  readonly excluded: readonly { readonly offering: Offering; readonly allows: OfferingTest }[];
  /** What stops it whatever the pods. */
  readonly refused: Kind | undefined;
}

/** What the pods make of some profiles. */
interface Verdict {
  /** Whether any satisfies what the pods ask for. */
  readonly matches: boolean;
  /** Places of those that do and whose DaemonSets leave the pods' host ports free. */
  readonly free: readonly number[];
}

interface Ask {
  readonly podClass: PodClass;
  readonly level: Level;
  /** What stops the pods in the pool as a whole. */
  readonly whole: Kind;
  readonly isTainted: boolean;
  readonly verdicts: Map<readonly Profile[], Verdict>;
  readonly mismatches: Map<readonly Profile[], Kind>;
  readonly shortages: Map<string, Kind>;
}

/** Goes through the instance types of NodePools for classes of pods: once a class. What does not depend on the class is kept. */
export class TypeExplainer {
  private readonly shelves = new Map<Pool, readonly Shelf[]>();

  constructor(
    private readonly compiled: Compiled,
    private readonly feasibility: Feasibility,
  ) {}

  /** `blockers` are those of the class, by pool. */
  explain(podClass: PodClass, blockers: readonly Blocker[]): TypesExplanation {
    const level = this.compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    const nodePools = this.compiled.pools.map((pool) => {
      const blocker = blockers.find(({ nodePool }) => nodePool === pool.name)!;
      const ask: Ask = {
        podClass,
        level,
        whole: wholeOf(blocker),
        isTainted: blocker.reason === 'Taints',
        verdicts: new Map(),
        mismatches: new Map(),
        shortages: new Map(),
      };
      return { nodePool: pool.name, typeGroups: grouped(this.shelvesOf(pool).map((shelf) => this.find(ask, shelf))) };
    });
    return { nodePools };
  }

  /** What stops one type first, in the order in which NodePools are judged (scheduling/blocking-reason). */
  private find(ask: Ask, shelf: Shelf): Finding {
    const { type, refused } = shelf;
    if (ask.isTainted) return { type, kind: ask.whole };
    if (refused !== undefined) return { type, kind: refused };
    const { matches, free } = this.verdict(ask, shelf.profiles);
    if (!matches) return unavailable(ask, shelf) ?? { type, kind: this.mismatch(ask, shelf) };
    if (free.length === 0) return { type, kind: portTaken };
    return this.shortage(ask, shelf, free) ?? { type, kind: ask.whole };
  }

  private verdict({ podClass, level, verdicts }: Ask, profiles: readonly Profile[]): Verdict {
    let verdict = verdicts.get(profiles);
    if (verdict === undefined) {
      const matching = profiles.map(({ values }) => level.constraints.some((each) => satisfies(each, values)));
      const free = profiles.flatMap((profile, i) => {
        const runs = matching[i]! && portsFree(this.compiled.offers.of(profile), podClass.shape.hostPorts);
        return runs ? [i] : [];
      });
      verdicts.set(profiles, (verdict = { matches: matching.includes(true), free }));
    }
    return verdict;
  }

  private shelvesOf(pool: Pool): readonly Shelf[] {
    let shelves = this.shelves.get(pool);
    if (shelves === undefined) {
      const { typeRuns, rows } = this.compiled.universe;
      const runs = new Map(typeRuns[pool.index]!.map((run) => [run.type, run]));
      const lists = new Map<string, readonly Profile[]>();
      shelves = pool.types.map((type) => {
        const run = runs.get(type);
        const own = run === undefined ? [] : rows.slice(run.from, run.to).map(({ profile }) => profile);
        const distinct = [...new Set(own)];
        const text = distinct.map(({ index }) => index).join();
        const profiles = lists.get(text) ?? distinct;
        lists.set(text, profiles);
        return this.shelf(pool, type, profiles);
      });
      this.shelves.set(pool, shelves);
    }
    return shelves;
  }

  private shelf(pool: Pool, type: InstanceType, profiles: readonly Profile[]): Shelf {
    const { offers, wellKnown } = this.compiled;
    const testOf = (offering: Offering): OfferingTest => offeringTest(type, offering, pool.requirements, wellKnown);
    const allocatable = offers.allocatable(type);
    return {
      type,
      profiles,
      rooms: profiles.map((profile) => allocatable.map((amount, d) => amount - offers.of(profile).overhead[d]!)),
      excluded: type.offerings
        .filter(({ available }) => !available)
        .map((offering) => ({ offering, allows: testOf(offering) }))
        .filter(({ allows }) => isAllowed(pool.requirements, allows)),
      refused: profiles.length > 0 ? undefined : refusal(pool, type, testOf),
    };
  }

  /** The first label that the pods ask for and no offering of the type has. */
  private mismatch(ask: Ask, { profiles, excluded }: Shelf): Kind {
    const { podClass, level, mismatches } = ask;
    const tests = excluded.map(({ allows }) => allows);
    if (level.constraints.length === 0) return fixed(contradiction(this.compiled, podClass));
    if (tests.length > 0) return fixed(this.mismatchOf(level, profiles, tests));
    let kind = mismatches.get(profiles);
    if (kind === undefined) mismatches.set(profiles, (kind = fixed(this.mismatchOf(level, profiles, tests))));
    return kind;
  }

  private mismatchOf({ constraints }: Level, profiles: readonly Profile[], tests: readonly OfferingTest[]): Cause {
    const constraint = constraints.at(-1)!;
    for (const [i, key] of constraint.keys.entries()) {
      const label = this.compiled.space.keys[key]!;
      const asked = constraint.tests[i]!;
      if (profiles.some(({ values }) => satisfiedBy(asked, values[key]))) continue;
      if (tests.some((allows) => allows(label, asked))) continue;
      const isKnown =
        profiles.some(({ values }) => values[key] !== undefined) || tests.some((allows) => allows(label, anyValue));
      return labelCause(this.compiled, label, asked, isKnown ? 'none of them has' : undefined);
    }
    return { reason: 'Requirements', message: 'none of them satisfies all requirements of the pod together' };
  }

  /** The first resource of which the type leaves too little for one pod. */
  private shortage({ podClass, shortages }: Ask, { type, rooms }: Shelf, free: readonly number[]): Finding | undefined {
    const demand = this.feasibility.demand(podClass);
    if (free.some((i) => rooms[i]!.every((left, d) => left >= demand[d]!))) return undefined;
    const d = demand.findIndex((wanted, k) => free.every((i) => rooms[i]![k]! < wanted));
    if (d < 0) return { type, kind: nowhereAll };
    const resource = this.compiled.dimensions.names[d]!;
    const leaves = Math.max(...free.map((i) => rooms[i]![d]!));
    const text = `Resources ${resource} ${leaves > 0}`;
    let kind = shortages.get(text);
    if (kind === undefined) {
      shortages.set(text, (kind = { text, cause: (group) => shortOf(resource, demand[d]!, group) }));
    }
    return { type, kind, leaves };
  }
}

/** The requirement of the pool that keeps the type out; undefined where it does not, and excluded offerings do. */
function refusal(
  { requirements }: Pool,
  type: InstanceType,
  testOf: (offering: Offering) => OfferingTest,
): Kind | undefined {
  const tests = type.offerings.map(testOf);
  if (tests.length === 0) return fixed({ reason: 'Offerings', message: 'no offering of theirs is available' });
  for (const [key, requirement] of requirements) {
    if (tests.some((allows) => allows(key, requirement))) continue;
    const message = `the requirements of the NodePool leave them out: ${key} ${describeRequirement(requirement)}`;
    return fixed({ reason: 'Requirements', subject: key, message });
  }
  if (tests.some((allows) => isAllowed(requirements, allows))) return undefined;
  return fixed({ reason: 'Requirements', message: 'no offering satisfies all requirements of the NodePool' });
}

/** Offerings that the pods could use and that are excluded for now. */
function unavailable({ level }: Ask, { type, excluded }: Shelf): Finding | undefined {
  const offerings = excluded
    .filter(({ allows }) => level.constraints.some(({ requirements }) => isAllowed(requirements, allows)))
    .map(({ offering }) => offering);
  if (offerings.length === 0) return undefined;
  const places = [...new Set(offerings.map(placeOf))].sort();
  const kind = {
    text: `Offerings ${places.join()}`,
    cause: (group: readonly Finding[]) => withoutCapacity(places, group),
  };
  return { type, kind, offerings };
}

const anyValue: Requirement = { complement: true, values: [], absent: false };

const fixed = (cause: Cause): Kind => ({
  text: `${cause.reason} ${cause.subject ?? ''} ${cause.message}`,
  cause: () => cause,
});

const portTaken = fixed({ reason: 'HostPorts', message: 'a DaemonSet uses a host port that the pod asks for' });
const nowhereAll = fixed({ reason: 'Resources', message: 'none of them has enough of every resource' });

/** What stops the pods in the pool as a whole stops the type. */
function wholeOf({ reason, subject, message }: Blocker): Kind {
  return fixed({ reason, ...(subject === undefined ? {} : { subject }), message });
}

const placeOf = (offering: Offering): string =>
  `${offeringValueOf(offering, labels.zone)} ${offeringValueOf(offering, labels.capacityType)}`;

function withoutCapacity(places: readonly string[], group: readonly Finding[]): Cause {
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

function shortOf(resource: string, wanted: number, group: readonly Finding[]): Cause {
  const largest = group.reduce((best, each) => (each.leaves! > best.leaves! ? each : best));
  const leaves = `${formatResource(resource, largest.leaves!)} on ${largest.type.name}`;
  const message =
    largest.leaves! > 0
      ? `${resource} ${formatResource(resource, wanted)} exceeds what they leave for pods, at most ${leaves}`
      : `they have no ${resource} for pods`;
  return { reason: 'Resources', subject: resource, message };
}

/** The groups of most types first. */
function grouped(findings: readonly Finding[]): TypeGroup[] {
  const byKind = new Map<Kind, Finding[]>();
  for (const finding of findings) push(byKind, finding.kind, [finding]);
  const byText = new Map<string, Finding[]>();
  for (const [{ text }, list] of byKind) push(byText, text, list);
  const groups = [...byText.values()].map((list) => {
    const ordered = list.sort((a, b) => compareText(a.type.name, b.type.name));
    const names = [...new Set(ordered.map(({ type }) => type.name))];
    return {
      group: titleOf(names),
      types: names.length,
      instanceTypes: names.slice(0, mostNames),
      ...ordered[0]!.kind.cause(ordered),
    };
  });
  return groups.sort((a, b) => b.types - a.types || compareText(a.message, b.message));
}

function push<K>(into: Map<K, Finding[]>, key: K, more: readonly Finding[]): void {
  const there = into.get(key);
  if (there === undefined) into.set(key, [...more]);
  else for (const each of more) there.push(each);
}

/** Types by family: what stands before the dot of their names. */
function titleOf(names: readonly string[]): string {
  if (names.length === 1) return names[0]!;
  const families = [...new Set(names.map((name) => name.split('.')[0]!))];
  const [last, ...before] = [...families].reverse();
  const named =
    families.length > mostFamilies
      ? `${families.slice(0, mostFamilies - 1).join(', ')} and ${families.length - mostFamilies + 1} other families`
      : [before.reverse().join(', '), last!].filter((part) => part !== '').join(' and ');
  return `${named} (${counted(names.length, 'type')})`;
}
