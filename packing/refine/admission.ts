import { selectsOwn } from '../place/host-rules.js';
import type { Ledger } from '../topology/ledger.js';
import type { Rules } from '../topology/rules.js';

/** Whether required affinity to the host name is met there, or the pod may be the first of its company. */
export function hasCompany(ledger: Ledger, rules: Rules, host: string | undefined): boolean {
  return rules.hostAffinity.every(
    (group) =>
      (host !== undefined && ledger.count(group, host) > 0) || (ledger.total(group) === 0 && selectsOwn(rules, group)),
  );
}

/** Whether the rules of topology allow one more pod in these domains. */
export function allows(ledger: Ledger, rules: Rules, domainOf: (key: string) => string | undefined): boolean {
  for (const group of rules.spread) {
    const domain = domainOf(group.key);
    if (domain === undefined) return false;
    const self = selectsOwn(rules, group) ? 1 : 0;
    if (ledger.count(group, domain) + self - ledger.least(group) > group.maxSkew) return false;
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
  return rules.affinity.every((group) => {
    const domain = domainOf(group.key);
    if (domain === undefined) return false;
    return ledger.total(group) > 0 ? ledger.count(group, domain) > 0 : selectsOwn(rules, group);
  });
}
