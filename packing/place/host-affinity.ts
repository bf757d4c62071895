import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import { holdsOne } from '../compile/offers.js';
import { portsClash } from '../../core/host-ports.js';
import type { Profile } from '../compile/universe.js';
import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import type { Volumes } from '../compile/volumes.js';
import type { Cells } from './cells.js';
import type { Feasibility } from './feasibility.js';
import { hostRoom, selectsOwn } from './host-rules.js';
import { roomFor, type NodeState } from './node-states.js';
import type { Member, Part, PlacementTarget } from './part.js';
import type { PodClass } from '../compile/classes.js';

/** The parts of the assigner that pod affinity by host name needs. */
interface Host {
  readonly cells: Cells;
  readonly topologyCounts: TopologyCounts;
  readonly volumes: Volumes;
  allows(rules: Rules, domainOf: (key: string) => string | undefined): boolean;
  putOn(node: NodeState, podClass: PodClass, rules: Rules, pods: readonly Pod[]): void;
}

/** Places pods with required pod affinity by host name: parts that must share a node become bundles. */
export class HostAffinity {
  constructor(
    private readonly compiled: Compiled,
    private readonly feasibility: Feasibility,
    private readonly nodes: readonly NodeState[],
    private readonly book: RuleBook,
    private readonly host: Host,
  ) {}

  place(target: PlacementTarget, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    let rest = this.joinNodes(target, pods);
    if (rest.length > 0) rest = this.joinParts(target, rest, parts);
    if (rest.length > 0 && this.maySeed(target.rules, parts)) rest = this.seed(target, rest, parts);
    return rest;
  }

  /** Places pods on existing nodes that have selected pods. */
  private joinNodes(target: PlacementTarget, pods: readonly Pod[]): readonly Pod[] {
    let rest = pods;
    for (const node of this.nodes) {
      if (rest.length === 0) break;
      if (target.rules.hostAffinity.every((group) => this.host.topologyCounts.count(group, node.host) > 0)) {
        rest = rest.slice(this.fill(node, target, rest));
      }
    }
    return rest;
  }

  /** Places as many of the pods on the node as fit; returns how many. */
  private fill(node: NodeState, target: PlacementTarget, pods: readonly Pod[]): number {
    const { podClass, level, rules } = target;
    let placed = 0;
    while (placed < pods.length) {
      const pod = pods[placed]!;
      const fits = roomFor(node.free, this.feasibility.demand(podClass), 1) > 0;
      if (!fits || !this.feasibility.admitsKind(level, node.kind)) break;
      if (!this.host.allows(rules, (key) => this.valueOf(node.kind.values, key))) break;
      if (hostRoom(node, { podClass, rules, pod }, this.host, 1) === 0) break;
      this.host.putOn(node, podClass, rules, [pod]);
      placed++;
    }
    return placed;
  }

  private valueOf(values: readonly (string | undefined)[], key: string): string | undefined {
    const index = this.compiled.space.find(key);
    return index === undefined ? undefined : values[index];
  }

  /** Bundles the pods with selected pods that get new nodes. */
  private joinParts(target: PlacementTarget, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const partners = parts.filter((part) => this.isPartner(target.rules, part));
    const units = partners.reduce((sum, { count }) => sum + count, 0);
    if (units === 0) return pods;
    let rest = pods;
    let unitsLeft = units;
    for (const partner of partners) {
      let plain = partner;
      while (rest.length > 0) {
        const share = Math.ceil(rest.length / unitsLeft--);
        const [one, others] = split(plain);
        const bundle = this.bundle(target, rest, share, one);
        if (bundle === undefined) break;
        const at = parts.indexOf(plain);
        if (others === undefined) parts.splice(at, 1, bundle.part);
        else parts.splice(at, 1, others, bundle.part);
        rest = rest.slice(bundle.pods);
        if (others === undefined) break;
        plain = others;
      }
    }
    return rest;
  }

  private isPartner({ hostAffinity }: Rules, { members }: Part): boolean {
    return hostAffinity.every((group) => members.some((member) => this.rulesOf(member).matched.includes(group)));
  }

  private rulesOf({ podClass, level }: Member): Rules {
    return this.book.of(podClass.shape, level);
  }

  /** A bundle of `base` and as many of the pods as fit on one node, at most `wanted`. */
  private bundle(
    target: PlacementTarget,
    pods: readonly Pod[],
    wanted: number,
    base: Part | undefined,
  ): { part: Part; pods: number } | undefined {
    const { podClass, level, rules } = target;
    const limit = Math.min(wanted, this.perNode(target, base));
    const own = this.profilesFor(target, base);
    const demand = this.feasibility.demand(podClass);
    let low = 0;
    let high = limit;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const total = sum(base?.demand, demand, middle);
      if (own.some((profile) => holdsOne(this.compiled.offers.of(profile), total))) low = middle;
      else high = middle - 1;
    }
    const admitted = low === 0 ? 0 : this.admit(rules, own[0]!, low);
    if (admitted === 0) return undefined;
    const total = sum(base?.demand, demand, admitted);
    const fitting = own.filter((profile) => holdsOne(this.compiled.offers.of(profile), total));
    const pinnedKeys = [...new Set([...(base?.pinnedKeys ?? []), ...rules.keys])].sort();
    const profiles = this.feasibility.heaviest(fitting);
    const member: Member = { podClass, level, pods: pods.slice(0, admitted) };
    const part: Part = {
      members: [...(base?.members ?? []), member],
      together: true,
      profiles,
      pinnedKeys,
      demand: total,
      count: 1,
    };
    return { part, pods: admitted };
  }

  /**
   * Counts pods of the class in the domains of the profile, at most `wanted` and as many as the rules allow; returns how many.
   */
  private admit(rules: Rules, profile: Profile, wanted: number): number {
    const { host } = this;
    let admitted = 0;
    while (admitted < wanted && host.allows(rules, (key) => this.valueOf(profile.values, key))) {
      host.topologyCounts.recordLaunch(rules, 1, profile);
      admitted++;
    }
    return admitted;
  }

  /** Profiles for a bundle: those of `base` that also admit the pods, within one allowed cell. */
  private profilesFor(target: PlacementTarget, base: Part | undefined): readonly Profile[] {
    const cells = this.host.cells.of(target);
    for (const cell of [...cells].sort((a, b) => a.shareOfPrice - b.shareOfPrice)) {
      if (!this.host.allows(target.rules, (key) => cell.domains.get(key))) continue;
      const profiles = base === undefined ? cell.profiles : base.profiles.filter((one) => cell.profiles.includes(one));
      if (profiles.length > 0) return profiles;
    }
    return [];
  }

  /** How many pods of the class may be on one node with `base`, by rules of the host name and by host ports. */
  private perNode({ podClass, rules }: PlacementTarget, base: Part | undefined): number {
    let most = Infinity;
    if (podClass.shape.hostPorts.length > 0) most = 1;
    for (const group of rules.hostAntiAffinity) if (selectsOwn(rules, group)) most = Math.min(most, 1);
    const members = (base?.members ?? []).map((member) => ({ ...member, rules: this.rulesOf(member) }));
    for (const member of members) {
      const { rules: other } = member;
      const shun = (owner: Rules, selected: Rules): boolean =>
        owner.hostAntiAffinity.some((group) => selected.matched.includes(group));
      const clash = portsClash(member.podClass.shape.hostPorts, podClass.shape.hostPorts);
      if (clash || shun(rules, other) || shun(other, rules)) return 0;
    }
    for (const group of new Set([rules, ...members.map((member) => member.rules)].flatMap((each) => each.hostSpread))) {
      const there = members.reduce(
        (count, { rules: other, pods }) => count + (selectsOwn(other, group) ? pods.length : 0),
        0,
      );
      if (selectsOwn(rules, group)) most = Math.min(most, Math.max(0, group.maxSkew - there));
      else if (there > group.maxSkew) return 0;
    }
    return most;
  }

  /** Whether pods of the class may be the first on a node, because no pod that they select is placed yet. */
  private maySeed(rules: Rules, parts: readonly Part[]): boolean {
    const isAnywhere = (group: Group): boolean =>
      this.host.topologyCounts.total(group) > 0 ||
      parts.some(({ members }) => members.some((member) => this.rulesOf(member).matched.includes(group)));
    return rules.hostAffinity.every((group) => selectsOwn(rules, group) && !isAnywhere(group));
  }

  /** The total demand of all pods whose affinity selects the pods that start here. */
  private demandOfAll({ rules }: PlacementTarget): Float64Array {
    const total = new Float64Array(this.compiled.dimensions.count);
    for (const podClass of this.compiled.queue) {
      const [level] = this.compiled.levelsByShape[podClass.shape.index]!;
      const { hostAffinity } = this.book.of(podClass.shape, level!);
      if (!rules.hostAffinity.every((group) => hostAffinity.includes(group))) continue;
      const demand = this.feasibility.demand(podClass);
      for (let d = 0; d < total.length; d++) total[d] = total[d]! + podClass.pods.length * demand[d]!;
    }
    return total;
  }

  private seed(target: PlacementTarget, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const { podClass, level } = target;
    const demand = this.feasibility.demand(podClass);
    const all = Math.min(pods.length, this.perNode(target, undefined));
    const everyone = this.demandOfAll(target);
    const holdsEveryone = this.profilesFor(target, undefined).some((profile) =>
      holdsOne(this.compiled.offers.of(profile), everyone),
    );
    const fits = (size: Float64Array, count: number): NodeState | undefined =>
      this.nodes.find(
        ({ free, kind }) => roomFor(free, size, count) === count && this.feasibility.admitsKind(level, kind),
      );
    const node = fits(everyone, 1) ?? (holdsEveryone ? undefined : fits(demand, all));
    if (node !== undefined) {
      const placed = this.fill(node, target, pods);
      if (placed > 0) return pods.slice(placed);
    }
    const bundle = this.bundle(target, pods, pods.length, undefined);
    if (bundle !== undefined) {
      parts.push(bundle.part);
      return pods.slice(bundle.pods);
    }
    const most = [...this.nodes].sort((a, b) => roomFor(b.free, demand, all) - roomFor(a.free, demand, all));
    for (const candidate of most) {
      const placed = this.fill(candidate, target, pods);
      if (placed > 0) return pods.slice(placed);
    }
    return pods;
  }
}

/** Splits a part into one unit and the rest. */
function split(part: Part): [Part, Part | undefined] {
  if (part.count === 1) return [part, undefined];
  const [member] = part.members;
  const one = { ...part, count: 1, members: [{ ...member!, pods: member!.pods.slice(0, 1) }] };
  return [one, { ...part, count: part.count - 1, members: [{ ...member!, pods: member!.pods.slice(1) }] }];
}

function sum(base: Float64Array | undefined, demand: Float64Array, times: number): Float64Array {
  return demand.map((amount, d) => (base?.[d] ?? 0) + times * amount);
}
