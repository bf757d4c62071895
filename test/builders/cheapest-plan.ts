import type { SmallCase, SmallNode, SmallPod, SmallPool, SmallType } from './small-case.js';
import { zones } from './small-case.js';

/** A node with its pods: one that exists, or one to be launched in a zone. */
interface Host {
  readonly node: SmallNode | undefined;
  readonly zone: string;
  readonly pods: SmallPod[];
  cpu: number;
  memory: number;
  price: number;
}

/** The price of the cheapest plan for all pods that is below `below`, dollars per hour; undefined if there is none, 'unknown' if not everything could be tried. */
export function cheapestBelow(input: SmallCase, below: number, mostSteps: number): number | 'unknown' | undefined {
  const judge = new Judge(input, below, mostSteps);
  judge.tryFrom(0, 0);
  if (judge.best < below) return judge.best;
  return judge.steps > mostSteps ? 'unknown' : undefined;
}

/** Tries every node for every pod, in the order of the pods; rules that a later pod can still meet are checked in the end. */
class Judge {
  best: number;
  steps = 0;
  private readonly hosts: Host[];
  private readonly pods: readonly SmallPod[];
  private readonly placedOn = new Map<SmallPod, number>();

  constructor(
    private readonly input: SmallCase,
    below: number,
    private readonly mostSteps: number,
  ) {
    this.best = below;
    const kind = ({ app, cpu, memory }: SmallPod): string => `${app.name} ${cpu} ${memory}`;
    this.pods = [...input.pods].sort((a, b) => b.cpu - a.cpu || (kind(a) < kind(b) ? -1 : 1));
    this.hosts = input.nodes.map((node) => ({
      node,
      zone: node.zone,
      pods: [...node.running],
      cpu: node.running.reduce((sum, { cpu }) => sum + cpu, 0),
      memory: node.running.reduce((sum, { memory }) => sum + memory, 0),
      price: 0,
    }));
  }

  tryFrom(index: number, price: number): void {
    if (price >= this.best - 1e-9 || this.steps++ > this.mostSteps) return;
    const pod = this.pods[index];
    if (pod === undefined) {
      if (this.isValid()) this.best = price;
      return;
    }
    // Equal pods are interchangeable.
    const before = this.pods[index - 1];
    const isLike = before !== undefined && before.app === pod.app && before.cpu === pod.cpu && before.memory === pod.memory; // prettier-ignore
    for (let at = isLike ? this.placedOn.get(before)! : 0; at < this.hosts.length; at++) {
      this.tryOn(this.hosts[at]!, at, index, price);
    }
    for (const zone of zones) {
      this.hosts.push({ node: undefined, zone, pods: [], cpu: 0, memory: 0, price: 0 });
      this.tryOn(this.hosts.at(-1)!, this.hosts.length - 1, index, price);
      this.hosts.pop();
    }
  }

  private tryOn(host: Host, at: number, index: number, price: number): void {
    const pod = this.pods[index]!;
    const before = { cpu: host.cpu, memory: host.memory, price: host.price };
    host.pods.push(pod);
    host.cpu += pod.cpu;
    host.memory += pod.memory;
    const next = this.priceOf(host);
    if (next !== undefined && !this.isApartBroken(pod, host)) {
      host.price = next;
      this.placedOn.set(pod, at);
      this.tryFrom(index + 1, price - before.price + next);
    }
    host.pods.pop();
    Object.assign(host, before);
  }

  /** Of the cheapest type that holds the pods there; undefined if none does. */
  private priceOf({ node, zone, pods, cpu, memory }: Host): number | undefined {
    if (node !== undefined) {
      const isHeld = cpu <= node.cpu && memory <= node.memory;
      return isHeld && pods.every((pod) => node.running.includes(pod) || selects(pod, node)) ? 0 : undefined;
    }
    let least: number | undefined;
    for (const pool of this.input.pools) {
      if (pool.isTainted && !pods.every(({ app }) => app.tolerates)) continue;
      for (const type of this.input.types) {
        if (cpu > type.cpu || memory > type.memory) continue;
        for (const { capacityType, price } of offersOf(type, pool, zone)) {
          const site = { zone, arch: type.arch, capacityType };
          if ((least === undefined || price < least) && pods.every((pod) => selects(pod, site))) least = price;
        }
      }
    }
    return least;
  }

  private isApartBroken(pod: SmallPod, host: Host): boolean {
    return this.hosts.some((other) =>
      other.pods.some(
        (there) => there !== pod && (keepsAway(pod, there, host, other) || keepsAway(there, pod, other, host)),
      ),
    );
  }

  private isValid(): boolean {
    return this.hosts.every((host) => host.pods.every((pod) => this.isSpread(pod, host) && this.isNear(pod, host)));
  }

  private isSpread({ app }: SmallPod, host: Host): boolean {
    return app.spread.every(({ key, maxSkew }) => {
      const own = (each: Host): number => each.pods.filter((pod) => pod.app === app).length;
      if (key === 'host') return own(host) <= maxSkew;
      const counts = zones.map((zone) => this.hosts.filter((each) => each.zone === zone).reduce((sum, each) => sum + own(each), 0)); // prettier-ignore
      return counts[zones.indexOf(host.zone)]! - Math.min(...counts) <= maxSkew;
    });
  }

  /** A pod of another app is there, or all of the own app are: one of them came first. */
  private isNear({ app }: SmallPod, host: Host): boolean {
    return app.near.every(({ key, app: selected }) => {
      const isHere = (each: Host): boolean => (key === 'host' ? each === host : each.zone === host.zone);
      const has = (each: Host): boolean => each.pods.some((pod) => pod.app.name === selected);
      if (selected !== app.name) return this.hosts.some((each) => isHere(each) && has(each));
      return this.hosts.every((each) => isHere(each) || !has(each));
    });
  }
}

const selects = (
  { app: { selector } }: SmallPod,
  site: { zone: string; arch: string; capacityType: string },
): boolean =>
  (selector.zone ?? site.zone) === site.zone &&
  (selector.arch ?? site.arch) === site.arch &&
  (selector.capacityType ?? site.capacityType) === site.capacityType;

const keepsAway = (owner: SmallPod, other: SmallPod, at: Host, otherAt: Host): boolean =>
  owner.app.apart.some(
    ({ key, app }) => app === other.app.name && (key === 'host' ? at === otherAt : at.zone === otherAt.zone),
  );

function offersOf({ arch, offers }: SmallType, { requirements }: SmallPool, zone: string): SmallType['offers'] {
  if (requirements.arch?.includes(arch) === false || requirements.zone?.includes(zone) === false) return [];
  return offers.filter(
    (offer) => offer.zone === zone && requirements.capacityType?.includes(offer.capacityType) !== false,
  );
}
