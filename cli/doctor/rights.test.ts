import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { roles } from './rights.js';

interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly object[];
}

const namespaces = { own: 'stowage', karpenter: 'kube-system' };

/** Whose rights are people's (authorization/rights). */
const people = /^stowage(-forced)?-orders$/;

test('deploy/rbac.yaml grants no verb that Stowage never sends', () => {
  // It has GET, POST, PATCH and DELETE; `update` on finalizers is what admission asks of whoever sets owner references.
  const unused = roles.flatMap(({ rules }) =>
    rules.filter(
      ({ verbs, resources }) => verbs.includes('update') && !resources.every((r) => r.endsWith('/finalizers')),
    ),
  );
  expect(unused).toEqual([]);
});

test('doctor asks for exactly the rights of deploy/rbac.yaml', () => {
  const documents = parseAllDocuments(readFileSync('deploy/rbac.yaml', 'utf8')).map((each) => each.toJS() as Document);
  const given = documents
    .filter(({ metadata, rules }) => rules !== undefined && !people.test(metadata.name))
    .map(({ kind, metadata, rules }) => ({ kind, name: metadata.name, namespace: metadata.namespace, rules }));

  expect(
    roles.map(({ name, in: where, rules }) => ({
      kind: where === undefined ? 'ClusterRole' : 'Role',
      name,
      namespace: where === undefined ? undefined : namespaces[where],
      rules,
    })),
  ).toEqual(given);
});
