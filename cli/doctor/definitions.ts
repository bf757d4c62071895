import { crdManifests } from '../../api/crds.js';
import { isTrue } from '../../core/conditions.js';
import { lookUp } from '../../core/own.js';
import type { Kinds, KubeClient } from '../../kube/port.js';
import { failed, okCheck, someOf, type Check, type CheckOutcome } from './check.js';
import { counted } from '../../core/text.js';

type Definition = Kinds['CustomResourceDefinition'];

/** Whether the cluster serves every kind of this version, with its schemas. */
export function definitionsCheck(kube: Pick<KubeClient, 'list'>): Check {
  return {
    name: 'definitions',
    needs: ['kubernetes'],
    unanswered: 'see permissions: CustomResourceDefinitions are read',
    run: async () => definitionsOutcome(await kube.list('CustomResourceDefinition')),
  };
}

const apply = 'run stowage crds --apply (helm upgrade does it)';

function definitionsOutcome(present: readonly Definition[]): CheckOutcome {
  const problems = crdManifests().flatMap((manifest) => {
    const name = manifest.metadata.name ?? '';
    const found = present.find(({ metadata }) => metadata.name === name);
    if (found === undefined) return [`${name} is missing`];
    if (!isTrue(found.status?.conditions, 'Established')) return [`${name} is not established`];
    const path = firstDifference(manifest.spec, found.spec, 'spec');
    return path === undefined ? [] : [`${name} is not that of this version: ${path} differs`];
  });
  if (problems.length > 0) return failed(someOf(problems, 3), apply);
  return okCheck(`${counted(crdManifests().length, 'CustomResourceDefinition')} of this version`);
}

/**
 * The first path at which `found` differs from `wanted`; undefined if it has everything. Additional fields, for example
 * from the API server, and omitted empty values do not count.
 */
export function firstDifference(wanted: unknown, found: unknown, path: string): string | undefined {
  if (found === undefined) return isEmpty(wanted) ? undefined : path;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return path;
    return first(wanted, (each, i) => firstDifference(each, found[i], `${path}[${i}]`));
  }
  if (wanted !== null && typeof wanted === 'object') {
    if (found === null || typeof found !== 'object') return path;
    return first(Object.entries(wanted), ([key, value]) =>
      firstDifference(value, lookUp(found as Record<string, unknown>, key), `${path}.${key}`),
    );
  }
  return wanted === found ? undefined : path;
}

function first<T>(items: readonly T[], look: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = look(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false || value === 0 || value === '') return true;
  return typeof value === 'object' && (value === null || Object.values(value).every(isEmpty));
}
