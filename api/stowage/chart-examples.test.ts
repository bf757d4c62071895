import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { disruptionPolicyIssues } from './disruption-policy-rules.js';
import { disruptionPolicies } from './disruption-policy.js';

const path = 'deploy/chart/examples/disruption-policies.yaml';
const examples = parseAllDocuments(readFileSync(path, 'utf8')).map(
  (each) => each.toJS() as { metadata: { name: string } },
);

test.each(examples.map((each) => [each.metadata.name, each] as const))('the example policy %s is valid', (_, given) => {
  expect(disruptionPolicyIssues(disruptionPolicies.mustParse(given))).toEqual([]);
});

test('of the example policies that select one NodePool the one with the highest weight applies', () => {
  const weights = examples.map((each) => disruptionPolicies.mustParse(each).spec.weight);
  expect(weights).not.toContain(undefined);
  expect(new Set(weights).size).toBe(examples.length);
});
