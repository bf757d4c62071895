import type { KeySpace } from '../compile/key-space.js';
import type { Profile } from '../compile/universe.js';
import type { Feasibility } from '../place/feasibility.js';
import type { DaemonPods } from '../topology/daemon-pods.js';

/** Profiles with the same domains for some topology keys. */
export interface ProfilePlace {
  readonly profiles: readonly Profile[];
  readonly values: Profile['values'];
}

/**
 * Caches what the search derives from lists of profiles. Equal lists are one object, so the caches are keyed by
 * identity.
 */
export class ProfileLists {
  private readonly intersections = new Map<readonly Profile[], Map<readonly Profile[], readonly Profile[]>>();
  private readonly places = new Map<readonly Profile[], Map<string, readonly ProfilePlace[]>>();
  private readonly placesOfList = new Map<readonly Profile[], Map<readonly string[], readonly ProfilePlace[]>>();
  private readonly weights = new Map<readonly Profile[], readonly (readonly Profile[])[]>();

  constructor(
    private readonly space: KeySpace,
    private readonly feasibility: Pick<Feasibility, 'intern'>,
    private readonly daemonPods?: Pick<DaemonPods, 'partnersOn'>,
  ) {}

  /** Profiles in both lists, in the order of the first. */
  intersection(a: readonly Profile[], b: readonly Profile[]): readonly Profile[] {
    if (a === b) return a;
    let known = this.intersections.get(a);
    if (known === undefined) this.intersections.set(a, (known = new Map<readonly Profile[], readonly Profile[]>()));
    let both = known.get(b);
    if (both === undefined) {
      const others = new Set(b);
      known.set(b, (both = this.feasibility.intern(a.filter((profile) => others.has(profile)))));
    }
    return both;
  }

  /** The profiles grouped by their domains of the keys, and by the DaemonSet pods that rules count there. */
  placesOf(profiles: readonly Profile[], keys: readonly string[]): readonly ProfilePlace[] {
    // A pod may have rules with hundreds of keys, so their text is computed once per list.
    let lists = this.placesOfList.get(profiles);
    if (lists === undefined)
      this.placesOfList.set(profiles, (lists = new Map<readonly string[], readonly ProfilePlace[]>()));
    let places = lists.get(keys);
    if (places === undefined) lists.set(keys, (places = this.placesByText(profiles, keys)));
    return places;
  }

  private placesByText(profiles: readonly Profile[], keys: readonly string[]): readonly ProfilePlace[] {
    let known = this.places.get(profiles);
    if (known === undefined) this.places.set(profiles, (known = new Map<string, readonly ProfilePlace[]>()));
    const text = keys.join();
    let places = known.get(text);
    if (places === undefined) {
      const { space } = this;
      const indexes = keys.map((key) => space.find(key)!);
      const grouped = new Map<string, Profile[]>();
      for (const profile of profiles) {
        const values = indexes.map((index) => space.likeness(index, profile.values[index]));
        const domains = JSON.stringify([...values, this.daemonPods?.partnersOn(profile) ?? []]);
        const there = grouped.get(domains);
        if (there === undefined) grouped.set(domains, [profile]);
        else there.push(profile);
      }
      places = [...grouped.keys()].sort().map((domains) => {
        const there = this.feasibility.intern(grouped.get(domains)!);
        return { profiles: there, values: there[0]!.values };
      });
      known.set(text, places);
    }
    return places;
  }

  /** The profiles by weight of their pools, the heaviest first. */
  byWeight(profiles: readonly Profile[]): readonly (readonly Profile[])[] {
    let known = this.weights.get(profiles);
    if (known === undefined) {
      const weights = [...new Set(profiles.map(({ pool }) => pool.weight))].sort((a, b) => b - a);
      known = weights.map((weight) => this.feasibility.intern(profiles.filter(({ pool }) => pool.weight === weight)));
      this.weights.set(profiles, known);
    }
    return known;
  }
}
