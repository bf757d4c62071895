import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Profile } from '../compile/universe.js';
import { mapped } from '../lists.js';
import { mayExcludeDomains, type Rules } from '../topology/rules.js';
import type { Feasibility } from './feasibility.js';
import type { NodeState } from './node-states.js';
import type { PlacementTarget } from './part.js';

/**
 * One combination of domains of the topology keys relevant for a class, with the existing nodes there and the profiles
 * that could be launched.
 */
export interface Cell {
  /** The domain of each topology key. */
  readonly domains: ReadonlyMap<string, string | undefined>;
  readonly domainOf: (key: string) => string | undefined;
  /** Profiles that can be launched there for the class, in the NodePools with the highest weight that have any. */
  readonly profiles: readonly Profile[];
  /** Such profiles of NodePools of any weight. */
  readonly holding: readonly Profile[];
  /** Existing nodes there that admit the class, in the order of trial, and how many are full. */
  readonly nodes: readonly NodeState[];
  next: number;
  /** Price of a pod there by its share of a new node, dollars per hour. */
  readonly shareOfPrice: number;
}

type Place = Pick<Cell, 'domains' | 'domainOf' | 'profiles' | 'holding'>;

const noNodes: readonly NodeState[] = [];
const noProfiles: readonly Profile[] = [];

/** Builds the cells of classes. Caches what does not depend on the class. */
export class Cells {
  private readonly places = new Map<readonly Profile[], Map<string, ReadonlyMap<string, Place>>>();
  private readonly heaviest = new Map<ReadonlyMap<string, Place>, ReadonlyMap<string, Place>>();
  private readonly nodesOf = new Map<Level, ReadonlyMap<string, readonly NodeState[]>>();

  /** Cells without existing nodes, by places and by demand. */
  private readonly bare = new Map<ReadonlyMap<string, Place>, Map<number, readonly Cell[]>>();

  constructor(
    private readonly compiled: Compiled,
    private readonly feasibility: Feasibility,
    private readonly nodes: readonly NodeState[],
  ) {}

  /** The cells of a class, sorted by their domains. */
  of({ podClass, level, rules, excluded }: PlacementTarget): readonly Cell[] {
    const holding = this.feasibility.holding(podClass, level, excluded);
    const all = this.placesOf(holding, rules.keys);
    const places = isFree(rules) ? this.heaviestOf(all) : all;
    const nodes = this.nodes.length === 0 ? undefined : this.nodesByCell(level, rules.keys);
    if (nodes === undefined) return this.withoutNodes(podClass, places);
    const cells: Cell[] = [];
    const texts = [...new Set([...places.keys(), ...nodes.keys()])];
    for (const text of texts.sort()) {
      const there = nodes.get(text) ?? noNodes;
      const place = places.get(text) ?? {
        ...this.domainsOf(rules.keys, there[0]!.kind.values),
        profiles: noProfiles,
        holding: noProfiles,
      };
      cells.push(this.cellOf(podClass, place, there));
    }
    return cells;
  }

  /** Cells without existing nodes never fill up, so classes with equal demands share them. */
  private withoutNodes(podClass: PodClass, places: ReadonlyMap<string, Place>): readonly Cell[] {
    let byDemand = this.bare.get(places);
    if (byDemand === undefined) this.bare.set(places, (byDemand = new Map<number, readonly Cell[]>()));
    const { index } = podClass.demand;
    let cells = byDemand.get(index);
    if (cells === undefined) {
      cells = mapped([...places.values()], (place) => this.cellOf(podClass, place, noNodes));
      byDemand.set(index, cells);
    }
    return cells;
  }

  private cellOf(
    podClass: PodClass,
    { domains, domainOf, profiles, holding }: Place,
    nodes: readonly NodeState[],
  ): Cell {
    let shareOfPrice = Infinity;
    for (const profile of profiles) shareOfPrice = Math.min(shareOfPrice, this.feasibility.share(podClass, profile));
    return { domains, domainOf, profiles, holding, nodes, next: 0, shareOfPrice };
  }

  /** By the text of their domains, sorted. */
  private placesOf(holding: readonly Profile[], keys: readonly string[]): ReadonlyMap<string, Place> {
    let byKeys = this.places.get(holding);
    if (byKeys === undefined) this.places.set(holding, (byKeys = new Map<string, ReadonlyMap<string, Place>>()));
    const keyText = keys.length === 1 ? keys[0]! : keys.join();
    let places = byKeys.get(keyText);
    if (places === undefined) {
      const grouped = new Map<string, Profile[]>();
      for (const profile of holding) push(grouped, this.textOf(keys, profile.values), profile);
      places = new Map(
        [...grouped.keys()].sort().map((text) => {
          const profiles = grouped.get(text)!;
          const domains = this.domainsOf(keys, profiles[0]!.values);
          return [
            text,
            { ...domains, profiles: this.feasibility.heaviest(profiles), holding: this.feasibility.intern(profiles) },
          ];
        }),
      );
      byKeys.set(keyText, places);
    }
    return places;
  }

  /**
   * The places with the highest weight (scheduling/heaviest-pool-first): pods without restricted domains open no node
   * in another NodePool for its domains.
   */
  private heaviestOf(places: ReadonlyMap<string, Place>): ReadonlyMap<string, Place> {
    let heaviest = this.heaviest.get(places);
    if (heaviest === undefined) {
      const weightOf = ({ profiles }: Place): number => profiles[0]!.pool.weight;
      let weight = 0;
      for (const place of places.values()) weight = Math.max(weight, weightOf(place));
      const found = [...places].filter(([, place]) => weightOf(place) === weight);
      heaviest = found.length === places.size ? places : new Map(found);
      this.heaviest.set(places, heaviest);
    }
    return heaviest;
  }

  private nodesByCell(level: Level, keys: readonly string[]): ReadonlyMap<string, readonly NodeState[]> {
    let grouped = this.nodesOf.get(level);
    if (grouped === undefined) {
      const fresh = new Map<string, NodeState[]>();
      for (const node of this.nodes) {
        if (this.feasibility.admitsKind(level, node.kind)) push(fresh, this.textOf(keys, node.kind.values), node);
      }
      this.nodesOf.set(level, (grouped = fresh));
    }
    return grouped;
  }

  private textOf(keys: readonly string[], values: readonly (string | undefined)[]): string {
    const { space } = this.compiled;
    let text = '';
    for (const key of keys) {
      const index = space.find(key)!;
      text += `${space.likeness(index, values[index])}\u0001`;
    }
    return text;
  }

  private domainsOf(
    keys: readonly string[],
    values: readonly (string | undefined)[],
  ): Pick<Cell, 'domains' | 'domainOf'> {
    const domains = new Map(keys.map((key) => [key, values[this.compiled.space.find(key)!]]));
    return { domains, domainOf: (key) => domains.get(key) };
  }
}

/** Whether such pods may be in any domain, and no other pods have affinity to them. */
const isFree = (rules: Rules): boolean =>
  !mayExcludeDomains(rules) && rules.matched.every(({ kind }) => kind === 'spread');

function push<T>(into: Map<string, T[]>, key: string, value: T): void {
  const there = into.get(key);
  if (there === undefined) into.set(key, [value]);
  else there.push(value);
}
