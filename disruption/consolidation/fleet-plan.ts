import type { Pod } from '../../api/kubernetes.js';
import type { Launch, Level, Member, NodeState, PodClass, Worth } from '../../packing/trial.js';
import type { RouteStep, Outcome } from './outcome.js';

interface Place {
  to: NodeState | number;
  left: number;
}

/**
 * Where all pods go if all planned nodes are removed. It is computed at once and carried out in several commands. Nodes
 * are launched at their final size, so that no pod moves twice.
 */
export class FleetPlan {
  readonly launches: readonly Launch[];
  /** Existing nodes that pods move to. */
  readonly filled: ReadonlySet<NodeState>;
  private readonly places = new Map<PodClass, Place[]>();
  private readonly levels: ReadonlyMap<PodClass, Level>[] = [];

  constructor({ placements, launches }: Pick<Outcome, 'placements' | 'launches'>) {
    this.launches = launches;
    this.filled = new Set(placements.map(({ node }) => node));
    for (const { node, podClass, pods } of placements) this.add(podClass, { to: node, left: pods.length });
    launches.forEach(({ claim }, i) => {
      this.levels.push(new Map(claim.members.map(({ podClass, level }) => [podClass, level])));
      for (const { podClass, pods } of claim.members) this.add(podClass, { to: i, left: pods.length });
    });
  }

  private add(podClass: PodClass, place: Place): void {
    const there = this.places.get(podClass);
    if (there === undefined) this.places.set(podClass, [place]);
    else there.push(place);
  }

  levelOf(launch: number, podClass: PodClass): Level {
    return this.levels[launch]!.get(podClass)!;
  }

  /**
   * Routes for these pods: to existing nodes first, then to the launch `first`, then to the launches with most room;
   * undefined if there is none.
   */
  route(
    loads: ReadonlyMap<PodClass, readonly Pod[]>,
    worth: Pick<Worth, 'of'>,
    demandOf: (podClass: PodClass) => Float64Array,
    first?: number,
  ): RouteStep[] | undefined {
    const legs: RouteStep[] = [];
    const rest = new Map<PodClass, readonly Pod[]>();
    for (const [podClass, pods] of loads) {
      let next = 0;
      for (const place of this.places.get(podClass) ?? []) {
        if (typeof place.to === 'number') continue;
        const n = Math.min(place.left, pods.length - next);
        if (n > 0) legs.push({ podClass, pods: pods.slice(next, next + n), to: place.to });
        next += n;
      }
      if (next < pods.length) rest.set(podClass, pods.slice(next));
    }
    const tried = new Set<number>();
    while (rest.size > 0) {
      const isFirst = first !== undefined && tried.size === 0;
      const best = isFirst ? first : this.bestLaunch(rest, tried, (podClass) => worth.of(demandOf(podClass)));
      if (best === undefined) return undefined;
      for (const [podClass, pods] of rest) {
        const place = this.placeAt(podClass, best);
        if (place === undefined || place.left === 0) continue;
        const n = Math.min(place.left, pods.length);
        legs.push({ podClass, pods: pods.slice(0, n), to: best });
        if (n === pods.length) rest.delete(podClass);
        else rest.set(podClass, pods.slice(n));
      }
      tried.add(best);
    }
    return legs;
  }

  /** Launches that no command has opened yet, the most expensive first. */
  unopened(): number[] {
    const open = new Set<number>();
    for (const places of this.places.values()) {
      for (const { to, left } of places) if (typeof to === 'number' && left > 0) open.add(to);
    }
    return [...open].sort((a, b) => this.launches[b]!.price - this.launches[a]!.price || a - b);
  }

  /** The nodes, in their order, whose pods can all go to existing nodes and to this launch. */
  servedBy<T extends { readonly loads: ReadonlyMap<PodClass, readonly Pod[]> }>(
    nodes: readonly T[],
    launch: number,
  ): T[] {
    const left = new Map<PodClass, number>();
    for (const [podClass, places] of this.places) {
      let room = 0;
      for (const place of places) if (typeof place.to !== 'number' || place.to === launch) room += place.left;
      left.set(podClass, room);
    }
    return nodes.filter(({ loads }) => {
      for (const [podClass, pods] of loads) if (pods.length > (left.get(podClass) ?? 0)) return false;
      for (const [podClass, pods] of loads) left.set(podClass, left.get(podClass)! - pods.length);
      return true;
    });
  }

  private placeAt(podClass: PodClass, launch: number): Place | undefined {
    return this.places.get(podClass)?.find(({ to }) => to === launch);
  }

  private bestLaunch(
    rest: ReadonlyMap<PodClass, readonly Pod[]>,
    tried: ReadonlySet<number>,
    worthOf: (podClass: PodClass) => number,
  ): number | undefined {
    const held = new Map<number, number>();
    for (const [podClass, pods] of rest) {
      const each = worthOf(podClass);
      for (const { to, left } of this.places.get(podClass) ?? []) {
        if (typeof to !== 'number' || left === 0 || tried.has(to)) continue;
        held.set(to, (held.get(to) ?? 0) + each * Math.min(left, pods.length));
      }
    }
    let best: number | undefined;
    for (const [launch, value] of held) {
      const share = value / this.launches[launch]!.price;
      if (best === undefined || share > held.get(best)! / this.launches[best]!.price) best = launch;
    }
    return best;
  }

  /** The launch with the pods that go there first, at the size that all of its pods need. */
  opening(index: number, members: readonly Member[]): Launch {
    const launch = this.launches[index]!;
    return { ...launch, claim: { ...launch.claim, members }, whole: launch.claim, counted: false };
  }

  /** Notes that a command has used this route. `launched` returns the node of a launch. */
  done(route: readonly RouteStep[], launched: (index: number) => NodeState): void {
    for (const { podClass, pods, to } of route) {
      const place = this.places.get(podClass)?.find((each) => each.to === to && each.left >= pods.length);
      if (place !== undefined) place.left -= pods.length;
    }
    const opened = new Set(route.flatMap(({ to }) => (typeof to === 'number' ? [to] : [])));
    for (const places of this.places.values()) {
      for (const place of places) {
        if (typeof place.to === 'number' && opened.has(place.to)) place.to = launched(place.to);
      }
    }
  }
}
