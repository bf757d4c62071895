import { awsLabelDomain, awsLabels, awsWellKnownLabels } from '../aws/labels.js';
import { capacityTypes, coreWellKnownLabels, labelAliases, labels } from '../labels.js';
import { issue, type FieldPath, type Issue } from '../schema/issues.js';
import { isQualifiedName, isWithinDomain, qualifiedNameRule } from '../schema/names.js';
import { labelDomain, type WrittenRequirement } from './requirements.js';
import { lookUp } from '../../core/own.js';

/** Well-known labels whose values are a closed set (node-pools/closed-value-sets). */
const closedSets: Readonly<Record<string, readonly string[]>> = {
  [labels.capacityType]: capacityTypes,
  [awsLabels.instanceTenancy]: ['default', 'dedicated'],
};

const reservedDomains: readonly string[] = ['karpenter.sh', awsLabelDomain];

const wellKnown = new Set([...coreWellKnownLabels, ...awsWellKnownLabels]);

/** Why users may not use a label key; undefined if they may. `extra`: well-known keys of other providers. */
export function restrictedLabel(key: string, extra: readonly string[] = []): string | undefined {
  if (wellKnown.has(key) || extra.includes(key)) return undefined;
  const domain = key.includes('/') ? labelDomain(key) : '';
  const reserved = reservedDomains.find((each) => isWithinDomain(domain, each));
  if (reserved !== undefined) return `a well-known label, or one outside of domain ${reserved}`;
  return key === labels.hostname ? 'any label but this one, which each node sets for itself' : undefined;
}

/**
 * Whether the label is in a Kubernetes domain by which components decide whom to trust: all except the well-known ones.
 */
export const isProtectedLabel = (key: string): boolean =>
  key.includes('/') && !wellKnown.has(key) && kubernetesDomains.some((each) => isWithinDomain(labelDomain(key), each));

const kubernetesDomains: readonly string[] = ['kubernetes.io', 'k8s.io'];

function closedSetIssues({ key, operator, values = [], minValues }: WrittenRequirement, path: FieldPath): Issue[] {
  const known = lookUp(closedSets, key);
  if (known === undefined || operator !== 'In') return [];
  const unknown = values.filter((value) => !known.includes(value));
  const usable = values.length - unknown.length;
  const at = [...path, 'values'];
  const allowed = `one or more of ${known.join(', ')}`;
  if (usable === 0) return [issue(at, values, allowed, `no value of ${key} is known`)];
  if (minValues !== undefined && usable < minValues) {
    return [issue(at, values, allowed, `minValues is ${minValues}, and only ${usable} of the values are known`)];
  }
  return unknown.length === 0
    ? []
    : [issue(at, unknown, allowed, 'these values are unknown and have no effect', 'warning')];
}

/**
 * Errors of requirements beyond what the API server rejects (node-pools/checks-beyond-the-schema): unqualified or
 * restricted keys, and values outside of closed sets. Paths begin with `path`.
 */
export function requirementIssues(requirements: readonly WrittenRequirement[], path: FieldPath): Issue[] {
  return requirements.flatMap((requirement, index) => {
    const at = [...path, index];
    const key = lookUp(labelAliases, requirement.key) ?? requirement.key;
    const issues: Issue[] = [];
    if (!isQualifiedName(key)) issues.push(issue([...at, 'key'], requirement.key, qualifiedNameRule));
    const restriction = restrictedLabel(key);
    if (restriction !== undefined) issues.push(issue([...at, 'key'], requirement.key, restriction));
    return [...issues, ...closedSetIssues({ ...requirement, key }, at)];
  });
}
