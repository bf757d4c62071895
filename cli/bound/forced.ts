import type { Compiled } from '../../packing/compile/compiled.js';
import type { Profile } from '../../packing/compile/universe.js';
import type { Exclusions } from '../../packing/place/exclusions.js';
import type { Part } from '../../packing/place/part.js';
import type { Group } from '../../packing/topology/groups.js';
import type { RuleBook } from '../../packing/topology/rules.js';
import type { TopologyCounts } from '../../packing/topology/topology-counts.js';
import type { BoundContext } from './context.js';

/** Pods under one rule with a topology key other than the host name. */
interface Ruled {
  readonly group: Group;
  /** Parts whose pods have the rule and are selected by it. */
  readonly both: number[];
  /** Parts whose pods only have it, and parts whose pods are only selected. */
  readonly owners: number[];
  readonly selected: number[];
  /** Number of pods in parts of `both` and of `selected`. */
  pods: number;
  others: number;
  /** Whether some are parts of more than one pod, which are not counted. */
  isBundled: boolean;
}

/** Minimum number of pods of these parts in the domain. */
interface LeastInDomain {
  readonly key: string;
  readonly domain: string;
  readonly parts: readonly number[];
  readonly least: number;
}

/** Pods that must all be in one domain, whichever it is. */
interface Together {
  readonly group: Group;
  readonly parts: readonly number[];
  readonly domains: readonly string[];
}

/** Constraints that rules with keys other than the host name force on every plan. */
export interface ForcedByRules extends Exclusions {
  readonly least: LeastInDomain[];
  readonly together: Together[];
  /** The rules that are completely covered. */
  readonly counted: Set<Group>;
}

/** Constraints on the domains of parts that spread, affinity and anti-affinity force, except rules by host name. */
export function forcedByTopology(
  { compiled, book, topologyCounts }: BoundContext,
  parts: readonly Part[],
): ForcedByRules {
  const forced: ForcedByRules = { caps: [], conflicts: [], least: [], together: [], counted: new Set() };
  for (const ruled of ruledParts(book, parts).values()) {
    const held = domainsOf(compiled, ruled, parts);
    if (ruled.group.kind === 'spread') addSpread(forced, ruled, held, topologyCounts);
    else if (ruled.group.kind === 'antiAffinity') addApart(forced, ruled, held, topologyCounts);
    else addTogether(forced, ruled, held, topologyCounts);
  }
  return forced;
}

function ruledParts(book: RuleBook, parts: readonly Part[]): Map<Group, Ruled> {
  const found = new Map<Group, Ruled>();
  const of = (group: Group): Ruled => {
    let ruled = found.get(group);
    if (ruled === undefined) {
      ruled = { group, both: [], owners: [], selected: [], pods: 0, others: 0, isBundled: false };
      found.set(group, ruled);
    }
    return ruled;
  };
  parts.forEach((part, p) => {
    // Parts of several classes have one set of rules, or are bundles.
    for (const { podClass, level } of part.members) {
      const { spread, affinity, antiAffinity, matched } = book.of(podClass.shape, level);
      const own = new Set([...spread, ...affinity, ...antiAffinity]);
      for (const group of own) {
        const ruled = of(group);
        const isSelected = matched.includes(group);
        note(isSelected ? ruled.both : ruled.owners, p);
      }
    }
  });
  parts.forEach((part, p) => {
    for (const { podClass, level } of part.members) {
      for (const group of book.of(podClass.shape, level).matched) {
        const ruled = found.get(group);
        if (ruled !== undefined && !ruled.both.includes(p)) note(ruled.selected, p);
      }
    }
  });
  for (const ruled of found.values()) {
    const sum = (list: readonly number[]): number => list.reduce((pods, p) => pods + podsOfPart(parts[p]!), 0);
    ruled.pods = sum(ruled.both);
    ruled.others = sum(ruled.selected);
    ruled.isBundled = [...ruled.both, ...ruled.selected].some((p) => parts[p]!.together);
  }
  return found;
}

/** Number of pods of the part. */
export function podsOfPart({ together, members, count }: Part): number {
  return together ? members.reduce((sum, { pods }) => sum + pods.length, 0) : count;
}

function note(list: number[], part: number): void {
  if (list.at(-1) !== part) list.push(part);
}

/** The possible domains of new nodes for pods of `both`. */
function domainsOf(compiled: Compiled, { group, both }: Ruled, parts: readonly Part[]): Set<string> {
  const key = compiled.space.find(group.key);
  const found = new Set<string>();
  if (key === undefined) return found;
  const seen = new Set<readonly Profile[]>();
  for (const p of both) {
    const { profiles } = parts[p]!;
    if (seen.has(profiles)) continue;
    seen.add(profiles);
    for (const { values } of profiles) if (values[key] !== undefined) found.add(values[key]);
  }
  return found;
}

/**
 * No domain may have more than `maxSkew` pods above the emptiest, so each has a minimum: with fewer in one, the others
 * could not hold the rest. Domains that may not count for every pod are assumed to hold pods, and no pods are forced
 * into them.
 */
function addSpread(forced: ForcedByRules, ruled: Ruled, held: ReadonlySet<string>, counts: TopologyCounts): void {
  const { group, both, owners, pods, others, isBundled } = ruled;
  if (isBundled || both.length === 0) return;
  if (owners.length === 0 && others === 0) forced.counted.add(group);
  const all = new Set([...counts.domains(group), ...held]);
  const running = new Map([...all].map((domain) => [domain, counts.count(group, domain)]));
  for (const domain of held) {
    let least = 0;
    for (; least < pods; least++) {
      const emptiest = all.size < group.minDomains ? 0 : running.get(domain)! + least + others;
      let room = 0;
      for (const [other, there] of running) {
        if (other !== domain) room += Math.max(0, emptiest + group.maxSkew - there);
      }
      if (pods - least <= room) break;
    }
    if (least > 0) forced.least.push({ key: group.key, domain, parts: both, least });
  }
  if (held.size === 0) return;
  const total = [...running.values()].reduce((sum, each) => sum + each, pods + others);
  const most = Math.floor(total / held.size) + group.maxSkew - Math.min(...running.values());
  if (most < pods) forced.caps.push({ items: Int32Array.from(both), max: Math.max(1, most) });
}

/** Pods with anti-affinity to each other in a domain do not share a node in it either, and need one domain each. */
function addApart(forced: ForcedByRules, ruled: Ruled, held: ReadonlySet<string>, counts: TopologyCounts): void {
  const { group, both, owners, selected, pods, isBundled } = ruled;
  if (both.length > 0) forced.caps.push({ items: Int32Array.from(both), max: 1 });
  const apart = (a: number, b: number): void => {
    if (a !== b) forced.conflicts.push([a, b]);
  };
  for (const owner of owners) for (const other of [...both, ...selected]) apart(owner, other);
  for (const owner of both) for (const other of selected) apart(owner, other);
  if (isBundled) return;
  if (owners.length === 0 && selected.length === 0) forced.counted.add(group);
  const free = [...new Set([...counts.domains(group), ...held])].filter((domain) => counts.count(group, domain) === 0);
  const least = pods - (free.length - 1);
  for (const domain of held) {
    if (least > 0 && free.includes(domain)) forced.least.push({ key: group.key, domain, parts: both, least });
  }
}

/**
 * Pods with affinity to each other are all in one domain if none of them runs and no other pod satisfies the affinity.
 */
function addTogether(forced: ForcedByRules, ruled: Ruled, held: ReadonlySet<string>, counts: TopologyCounts): void {
  const { group, both, others, pods } = ruled;
  if (both.length === 0 || others > 0 || pods < 2 || counts.total(group) > 0) return;
  forced.together.push({ group, parts: both, domains: [...held].sort() });
}
