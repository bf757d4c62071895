import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';
import type { Blocker } from '../types.js';
import type { Cell } from './cells.js';
import { selectsOwn } from './host-rules.js';
import { listedNames, counted } from '../../core/text.js';

/**
 * The topology rule that excludes the next pod from every domain; the first in the order of checks. `admits`: whether
 * all rules together allow a cell; no allowed cell has room.
 */
export function topologyBlocker(
  rules: Rules,
  cells: readonly Cell[],
  topologyCounts: TopologyCounts,
  admits: (cell: Cell) => boolean,
): Blocker | undefined {
  const view = new View(rules, cells, topologyCounts);
  for (const group of rules.spread) {
    const message = view.skewProblem(group);
    if (message !== undefined) return blocker(group, message);
  }
  for (const group of rules.affinity) {
    if (view.lacksMatch(group)) return blocker(group, `no ${group.key} that it may use has a pod that ${whom(rules)}`);
  }
  for (const group of rules.antiAffinity) {
    if (view.domains(group).every((domain) => topologyCounts.count(group, domain) > 0)) {
      return blocker(group, `every ${group.key} that it may use has a pod that its anti-affinity keeps away from`);
    }
  }
  for (const group of rules.matched) {
    if (view.isExcludedByOthers(group))
      return blocker(group, `every ${group.key} that it may use has a pod whose anti-affinity keeps it away`);
  }
  const [affinity] = rules.hostAffinity;
  if (affinity !== undefined) {
    return view.lacksAnyMatch(affinity)
      ? blocker(affinity, `there is no pod that ${whom(rules)}`)
      : blocker(affinity, `no node with the pods that ${whom(rules)} has room for it`);
  }
  const [key] = rules.keys;
  if (key === undefined) return undefined;
  const left = [...new Set(cells.filter(admits).map(({ domains }) => [...domains.values()].join(' with ')))];
  if (left.length === 0)
    return { reason: 'Topology', subject: key, message: 'its topology rules allow no domain together' };
  const counts = rules.spread.map((group) => ` (${view.counts(group)})`).join('');
  const message = `by its ${rulesText(rules)} only ${rules.keys.join(' with ')} ${listedNames(left)} is left${counts}: no node is launched for it there, and those that are there have no room`;
  return { reason: 'Topology', subject: key, message };
}

/** Names the kinds of rules that restrict where the pod may be. */
function rulesText({ spread, affinity, antiAffinity }: Rules): string {
  const kinds = [
    ['spread', spread],
    ['affinity', affinity],
    ['anti-affinity', antiAffinity],
  ] as const;
  const own = kinds.flatMap(([name, groups]) => (groups.length > 0 ? [name] : []));
  return own.length === 0 ? 'topology rules and those of other pods' : own.join(' and ');
}

/** The domains that a class could use, with their counts. */
class View {
  constructor(
    private readonly rules: Rules,
    private readonly cells: readonly Cell[],
    private readonly topologyCounts: TopologyCounts,
  ) {}

  domains({ key }: Group): string[] {
    return [...new Set(this.cells.flatMap(({ domains }) => domains.get(key) ?? []))];
  }

  /** Why spread allows no more pods in any domain, in words; undefined if it allows one. */
  skewProblem(group: Group): string | undefined {
    const { topologyCounts } = this;
    const self = selectsOwn(this.rules, group) ? 1 : 0;
    const least = topologyCounts.least(group);
    if (this.domains(group).some((domain) => topologyCounts.count(group, domain) + self - least <= group.maxSkew)) {
      return undefined;
    }
    const known = topologyCounts.domains(group);
    if (known.length === 0) return `no node for it has, or could have, the label ${group.key}`;
    const few = known.length < group.minDomains ? `; minDomains asks for ${counted(group.minDomains, 'domain')}` : '';
    return `spreading over ${group.key} with a skew of ${group.maxSkew} has no room (${this.counts(group)}${few})`;
  }

  /** The pods in each domain. */
  counts(group: Group): string {
    const { topologyCounts } = this;
    return topologyCounts
      .domains(group)
      .map((domain) => `${domain}: ${topologyCounts.count(group, domain)}`)
      .join(', ');
  }

  /** Whether no domain has a pod that the affinity selects. */
  lacksMatch(group: Group): boolean {
    const { topologyCounts } = this;
    if (topologyCounts.total(group) === 0 && selectsOwn(this.rules, group)) return this.domains(group).length === 0;
    return this.domains(group).every((domain) => topologyCounts.count(group, domain) === 0);
  }

  /** Whether there is no pod at all that the affinity selects, and the pod cannot be the first. */
  lacksAnyMatch(group: Group): boolean {
    return this.topologyCounts.total(group) === 0 && !selectsOwn(this.rules, group);
  }

  /** Whether every domain has a pod whose anti-affinity selects this pod. */
  isExcludedByOthers(group: Group): boolean {
    if (group.kind !== 'antiAffinity' || group.hostname) return false;
    const domains = this.domains(group);
    return domains.length > 0 && domains.every((domain) => this.topologyCounts.owners(group, domain) > 0);
  }
}

/**
 * kube-scheduler counts only pods that all terms select. The message says so, because users expect each term to count
 * separately.
 */
const whom = ({ level }: Rules): string =>
  level.affinity.length > 1 ? 'all of its affinity terms select' : 'its affinity wants';

function blocker(group: Group, message: string): Blocker {
  return { reason: 'Topology', subject: group.key, message };
}
