import type { Market, MarketProblem } from './market.js';
import type { Compiled } from '../../packing/compile/compiled.js';
import type { Profile } from '../../packing/compile/universe.js';
import { type PoolLimit, rowUse } from '../../packing/compile/pool-limits.js';
import { type Exclusions, exclusionsOf } from '../../packing/place/exclusions.js';
import type { NodeState } from '../../packing/place/node-states.js';
import type { Part } from '../../packing/place/part.js';
import type { ForcedByRules } from './forced.js';
import type { BoundContext } from './context.js';
import { minValuesRulesOf } from '../../packing/compile/min-values.js';
import type { Pool } from '../../packing/compile/pools.js';
import type { Rules } from '../../packing/topology/rules.js';

/** By part whose pods must be in one domain: the key and the domain. */
export type Pinned = ReadonlyMap<number, { readonly key: string; readonly domain: string }>;

type Bin = Market['bins'][number];

/** The parts, and constraints on their nodes. */
interface BoundProblem {
  readonly parts: readonly Part[];
  readonly forced: ForcedByRules;
  /** Maximum number of nodes to launch; Infinity: any. */
  readonly mostNodes: number;
}

/** The parts as numbers: offers for each, bin constraints, and what rules force. */
export function marketProblem(
  context: BoundContext,
  { parts, forced, mostNodes }: BoundProblem,
  pinned: Pinned,
): MarketProblem {
  const { compiled, book } = context;
  const exclusions = joined(exclusionsOf(parts, book), forced);
  const amounts = compiled.dimensions.count;
  const width = amounts + exclusions.caps.length;
  const weight = new Float64Array(parts.length * width);
  parts.forEach(({ demand }, item) => weight.set(demand, item * width));
  exclusions.caps.forEach(({ items }, cap) => {
    for (const item of items) weight[item * width + amounts + cap] = 1;
  });
  const limits = compiled.limits.filter((limit) => limit.remaining < Infinity);
  const counted = mostNodes < Infinity;
  const builder = new MarketBuilder(context, { parts, forced, pinned, caps: exclusions.caps, limits, counted });
  return {
    width,
    weight,
    pods: Int32Array.from(parts, ({ count }) => count),
    conflicts: conflictLists(exclusions, parts.length),
    markets: [...builder.ofProfiles(), ...builder.ofNodes()],
    requirements: forced.least.map(({ parts: items, least }) => ({ items: Int32Array.from(items), least })),
    limits: [...limits.map(({ remaining }) => Math.max(0, remaining)), ...(counted ? [mostNodes] : [])],
  };
}

function joined(a: Exclusions, b: Exclusions): Exclusions {
  return { caps: [...a.caps, ...b.caps], conflicts: [...a.conflicts, ...b.conflicts] };
}

function conflictLists({ conflicts }: Exclusions, parts: number): number[][] {
  const lists = Array.from({ length: parts }, () => new Set<number>());
  for (const [a, b] of conflicts) {
    if (a === b) continue;
    lists[a]!.add(b);
    lists[b]!.add(a);
  }
  return lists.map((list) => [...list].sort((a, b) => a - b));
}

interface Numbers {
  readonly parts: readonly Part[];
  readonly forced: ForcedByRules;
  readonly pinned: Pinned;
  readonly caps: Exclusions['caps'];
  readonly limits: readonly PoolLimit[];
  /** Whether the last limit is that of the number of nodes. */
  readonly counted: boolean;
}

class MarketBuilder {
  /** By key of a requirement or of a pinned part: its index in the key space. */
  private readonly places = new Map<string, number | undefined>();

  constructor(
    private readonly context: BoundContext,
    private readonly numbers: Numbers,
  ) {
    const { space } = context.compiled;
    for (const { key } of numbers.forced.least) this.places.set(key, space.find(key));
    for (const { key } of numbers.pinned.values()) this.places.set(key, space.find(key));
  }

  /** Offers of profiles that admit the same parts, in the same domains. */
  ofProfiles(): Market[] {
    const { compiled } = this.context;
    const groups = new Map<string, { items: readonly number[]; opens: readonly number[]; profiles: Profile[] }>();
    for (const [profile, { items, opens }] of this.admissions()) {
      const text = `${items.join()}|${opens.join()}|${this.domainsText(profile.values)}`;
      const group = groups.get(text);
      if (group === undefined) groups.set(text, { items, opens, profiles: [profile] });
      else group.profiles.push(profile);
    }
    return [...groups.values()].flatMap(({ items, opens, profiles }): Market[] => {
      const bins = undominated(profiles.flatMap((profile) => this.binsOf(compiled, profile)));
      if (bins.length === 0 || opens.length === 0) return [];
      return [
        {
          items: Int32Array.from(items),
          requirements: this.requirementsOf(profiles[0]!.values),
          bins,
          ...(opens.length < items.length && { openers: Int32Array.from(opens) }),
        },
      ];
    });
  }

  /** By profile: the parts that it may hold, and those of them that can open a node. */
  private admissions(): Map<Profile, { items: number[]; opens: number[] }> {
    const { parts } = this.numbers;
    const opened = poolsToOpen(this.context, parts);
    const found = new Map<Profile, { items: number[]; opens: number[] }>();
    parts.forEach(({ profiles }, item) => {
      for (const profile of profiles) {
        if (!this.isPinnedTo(item, profile.values)) continue;
        let admission = found.get(profile);
        if (admission === undefined) found.set(profile, (admission = { items: [], opens: [] }));
        admission.items.push(item);
        if (opened[item] === undefined || opened[item].has(profile.pool)) admission.opens.push(item);
      }
    });
    return found;
  }

  private isPinnedTo(item: number, values: Profile['values']): boolean {
    const pin = this.numbers.pinned.get(item);
    return pin === undefined || values[this.places.get(pin.key) ?? -1] === pin.domain;
  }

  private domainsText(values: Profile['values']): string {
    return this.requirementsOf(values).join();
  }

  private requirementsOf(values: Profile['values']): number[] {
    return this.numbers.forced.least.flatMap(({ key, domain }, r) =>
      values[this.places.get(key) ?? -1] === domain ? [r] : [],
    );
  }

  private binsOf({ offers, universe, dimensions }: Compiled, profile: Profile): Bin[] {
    const { rows, capacity } = offers.of(profile);
    return rows.map((row, i): Bin => {
      const own = capacity.subarray(i * dimensions.count, (i + 1) * dimensions.count);
      return {
        price: universe.rows[row]!.offering.price,
        capacity: this.withCaps(own),
        use: this.withNodes(
          this.numbers.limits.map((limit) => rowUse(universe.rows[row]!, limit)),
          1,
        ),
      };
    });
  }

  /** Use of each limit by a node. */
  private withNodes(use: readonly number[], nodes: number): Float64Array {
    return Float64Array.from(this.numbers.counted ? [...use, nodes] : use);
  }

  private withCaps(amounts: Float64Array): Float64Array {
    const { caps } = this.numbers;
    const capacity = new Float64Array(amounts.length + caps.length);
    capacity.set(amounts.map((amount) => Math.max(0, amount)));
    caps.forEach(({ max }, cap) => (capacity[amounts.length + cap] = max));
    return capacity;
  }

  /** Existing nodes; those of one kind with equal room are combined. Rules by host name of their pods are ignored. */
  ofNodes(): Market[] {
    const { nodes, feasibility } = this.context;
    const { parts, limits } = this.numbers;
    const use = this.withNodes(new Array<number>(limits.length).fill(0), 0);
    const groups = new Map<string, { node: NodeState; count: number }>();
    for (const node of nodes) {
      const text = `${node.kind.index} ${node.free.join()}`;
      const group = groups.get(text);
      if (group === undefined) groups.set(text, { node, count: 1 });
      else group.count++;
    }
    const admitted = new Map<NodeState['kind'], number[]>();
    const itemsOf = (kind: NodeState['kind']): number[] => {
      let items = admitted.get(kind);
      if (items === undefined) {
        const admits = ({ members }: Part): boolean =>
          members.every(({ level }) => feasibility.admitsKind(level, kind));
        items = [...parts.keys()].filter((p) => admits(parts[p]!) && this.isPinnedTo(p, kind.values));
        admitted.set(kind, items);
      }
      return items;
    };
    return [...groups.values()].flatMap(({ node: { kind, free }, count }): Market[] => {
      const items = itemsOf(kind);
      if (items.length === 0) return [];
      const bins = [{ price: 0, capacity: this.withCaps(free), use }];
      return [{ items: Int32Array.from(items), requirements: this.requirementsOf(kind.values), bins, count }];
    });
  }
}

/** By price, without dominated bins: another is no dearer, no smaller, and uses no more of any limit. */
function undominated(bins: readonly Bin[]): Bin[] {
  const kept: Bin[] = [];
  for (const bin of [...bins].sort((a, b) => a.price - b.price)) {
    const isBeaten = kept.some(
      ({ capacity, use }) =>
        capacity.every((amount, d) => amount >= bin.capacity[d]!) && use.every((amount, l) => amount <= bin.use[l]!),
    );
    if (!isBeaten) kept.push(bin);
  }
  return kept;
}

/**
 * By part: the NodePools in which a node is launched for its pods, which are the heaviest that hold them
 * (scheduling/heaviest-pool-first); pods may be on a node of another only if it is launched for others. Undefined if
 * any pool is possible: for pods with topology rules, which may be satisfiable only in some pools, or with preferences.
 * For heavier pools with limits or minValues, the next lighter ones are possible too.
 */
function poolsToOpen(context: BoundContext, parts: readonly Part[]): readonly (ReadonlySet<Pool> | undefined)[] {
  const { compiled } = context;
  if ((compiled.input.objects.disruptionPolicies ?? []).length > 0) return parts.map(() => undefined);
  const limited = new Set(compiled.limits.map(({ pool }) => pool));
  const mayRunOut = (pool: Pool): boolean =>
    limited.has(undefined) || limited.has(pool.name) || minValuesRulesOf(pool.requirements).length > 0;
  return parts.map((part) => {
    if (part.together || part.members.some((member) => !isPlain(context, member))) return undefined;
    const pools = [...new Set(part.profiles.map(({ pool }) => pool))].sort((a, b) => b.weight - a.weight);
    const opened = new Set<Pool>();
    let weight: number | undefined;
    for (const pool of pools) {
      if (weight !== undefined && pool.weight < weight) break;
      opened.add(pool);
      if (!mayRunOut(pool)) weight = pool.weight;
    }
    return opened;
  });
}

function isPlain({ compiled, book }: BoundContext, { podClass, level }: Part['members'][number]): boolean {
  if (compiled.levelsByShape[podClass.shape.index]!.length > 1) return false;
  const rules: Rules = book.of(podClass.shape, level);
  const { spread, affinity, antiAffinity, hostAffinity, matched } = rules;
  if (spread.length + affinity.length + antiAffinity.length + hostAffinity.length > 0) return false;
  return matched.every(({ hostname, kind }) => hostname && kind !== 'affinity');
}
