import { selectsOwn } from '../place/host-rules.js';
import type { Group } from '../topology/groups.js';
import type { Ledger } from '../topology/ledger.js';
import type { Rules } from '../topology/rules.js';

/** Pods of one class on one node, and the domain of each rule there. */
export interface Stay {
  readonly rules: Rules;
  readonly pods: number;
  readonly domainOf: (group: Group) => string | undefined;
}

/**
 * Affinity rules that wait for one another: one selects pods that have another, and so on back to the first. Each may find the
 * pods that it selects in its domain, and still nobody could have been the first to be bound there.
 */
export class Circles {
  private readonly groups: ReadonlySet<Group>;

  /** @param required the rules of every kind of pod with nothing preferred any more */
  constructor(required: readonly Rules[]) {
    this.groups = inCircles(required);
  }

  get any(): boolean {
    return this.groups.size > 0;
  }

  /** Rules, each with its domain, that no order of binding meets for the pods that are there (section 2.6). */
  stuck(stays: readonly Stay[], ledger: Ledger): { readonly group: Group; readonly domain: string | undefined }[] {
    const wantedBy = (rules: Rules): Group[] => affinityOf(rules).filter((group) => this.groups.has(group));
    let rest = stays.filter(({ rules }) => wantedBy(rules).length > 0);
    const waiting = new Waiting(rest);
    const isMet = ({ domainOf }: Stay, group: Group): boolean => waiting.isThere(ledger, group, domainOf(group));
    const mayCome = (stay: Stay): boolean => wantedBy(stay.rules).every((group) => isMet(stay, group));
    const mayBegin = (stay: Stay): boolean =>
      wantedBy(stay.rules).every(
        (group) => isMet(stay, group) || (waiting.isNobodyThere(ledger, group) && selectsOwn(stay.rules, group)),
      );
    while (rest.length > 0) {
      const next = rest.find(mayCome) ?? rest.find(mayBegin);
      if (next === undefined) break;
      waiting.add(next, -1);
      rest = rest.filter((stay) => stay !== next);
    }
    return rest.flatMap((stay) =>
      wantedBy(stay.rules)
        .filter((group) => !isMet(stay, group))
        .map((group) => ({ group, domain: stay.domainOf(group) })),
    );
  }
}

/** Pods that are counted by the rules already though they wait themselves. */
class Waiting {
  private readonly pods = new Map<Group, Map<string, number>>();

  constructor(stays: readonly Stay[]) {
    for (const stay of stays) this.add(stay, 1);
  }

  add({ rules, pods, domainOf }: Stay, times: 1 | -1): void {
    for (const group of rules.matched) {
      const domain = domainOf(group);
      if (domain === undefined) continue;
      let counts = this.pods.get(group);
      if (counts === undefined) this.pods.set(group, (counts = new Map<string, number>()));
      counts.set(domain, (counts.get(domain) ?? 0) + times * pods);
    }
  }

  isThere(ledger: Ledger, group: Group, domain: string | undefined): boolean {
    if (domain === undefined) return false;
    return ledger.count(group, domain) > (this.pods.get(group)?.get(domain) ?? 0);
  }

  isNobodyThere(ledger: Ledger, group: Group): boolean {
    let waiting = 0;
    for (const count of this.pods.get(group)?.values() ?? []) waiting += count;
    return ledger.total(group) <= waiting;
  }
}

const affinityOf = ({ affinity, hostAffinity }: Rules): Group[] => [...affinity, ...hostAffinity];

function inCircles(required: readonly Rules[]): Set<Group> {
  const waitsFor = new Map<Group, Set<Group>>();
  for (const rules of required) {
    for (const group of rules.matched) {
      if (group.kind !== 'affinity') continue;
      const next = waitsFor.get(group) ?? new Set<Group>();
      waitsFor.set(group, next);
      for (const other of affinityOf(rules)) if (other !== group) next.add(other);
    }
  }
  return new Set([...waitsFor.keys()].filter((group) => reaches(group, waitsFor)));
}

function reaches(from: Group, waitsFor: ReadonlyMap<Group, ReadonlySet<Group>>): boolean {
  const seen = new Set<Group>();
  const open = [...(waitsFor.get(from) ?? [])];
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    if (group === from) return true;
    if (seen.has(group)) continue;
    seen.add(group);
    open.push(...(waitsFor.get(group) ?? []));
  }
  return false;
}
