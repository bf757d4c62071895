import type { Group } from '../topology/groups.js';
import type { Ledger } from '../topology/ledger.js';
import type { Rules } from '../topology/rules.js';
import { selectsOwn } from './host-rules.js';

type DomainOf = (key: string) => string | undefined;

const anywhere = (): boolean => true;

/**
 * Whether the topology rules allow one more pod in these domains. `begins` says whether the first pod of an affinity may be in a
 * domain; by default in any.
 */
export function allows(
  ledger: Ledger,
  rules: Rules,
  domainOf: DomainOf,
  begins: (group: Group, domain: string) => boolean = anywhere,
): boolean {
  for (const group of rules.spread) {
    if (!keepsSkew(ledger, group, domainOf(group.key), selectsOwn(rules, group))) return false;
  }
  for (const group of rules.antiAffinity) {
    const domain = domainOf(group.key);
    if (domain !== undefined && ledger.count(group, domain) > 0) return false;
  }
  for (const group of rules.matched) {
    if (group.hostname || group.kind !== 'antiAffinity') continue;
    const domain = domainOf(group.key);
    if (domain !== undefined && ledger.owners(group, domain) > 0) return false;
  }
  for (const group of rules.affinity) {
    const domain = domainOf(group.key);
    if (domain === undefined || !findsAffinityMatch(ledger, rules, group, domain, begins)) return false;
  }
  return true;
}

/** Whether the domain has a pod that the affinity selects, or may get the first one. */
function findsAffinityMatch(
  ledger: Ledger,
  rules: Rules,
  group: Group,
  domain: string,
  begins: (group: Group, domain: string) => boolean,
): boolean {
  if (ledger.total(group) > 0) return ledger.count(group, domain) > 0;
  return selectsOwn(rules, group) && begins(group, domain);
}

/** Whether the skew holds with one more pod in the domain, which counts if the rule selects it. */
export function keepsSkew(ledger: Ledger, group: Group, domain: string | undefined, counts: boolean): boolean {
  if (domain === undefined) return false;
  return ledger.count(group, domain) + (counts ? 1 : 0) - ledger.least(group) <= group.maxSkew;
}

/** Whether required pod affinity by host name is met there, or the pod may be the first that it selects. */
export function meetsHostAffinity(ledger: Ledger, rules: Rules, host: string | undefined): boolean {
  return rules.hostAffinity.every(
    (group) =>
      (host !== undefined && ledger.count(group, host) > 0) || (ledger.total(group) === 0 && selectsOwn(rules, group)),
  );
}

/** Whether the pod can be removed from the host alone: no pod there has affinity to it. */
export function isFree(
  ledger: Ledger,
  rules: Rules,
  host: string,
  others: readonly { readonly rules: Rules }[],
): boolean {
  return !rules.matched.some(
    (group) =>
      group.kind === 'affinity' &&
      group.hostname &&
      ledger.count(group, host) === 1 &&
      others.some((other) => other.rules.hostAffinity.includes(group)),
  );
}
