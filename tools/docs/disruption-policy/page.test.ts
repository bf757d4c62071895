import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { disruptionPolicies } from '../../../api/stowage/disruption-policy.js';
import { policyProblems } from '../../../disruption/budgets/policy-problems.js';
import { examples, policyOf } from './examples.mjs';
import { leavesOf, policyPage, type Schema } from './page.mjs';

/** Prettier pads the columns of a table. */
const bare = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');

const manifest = disruptionPolicies.crd();
const { spec } = (manifest as unknown as { spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] } }).spec
  .versions[0].schema.openAPIV3Schema.properties as { spec: Schema };
const now = Date.parse('2026-01-05T12:00:00Z');

/** The paths of the values of an example, lists marked by `[]`; what maps labels is one value. */
function pathsIn(value: unknown, known: ReadonlySet<string>, path = ''): string[] {
  if (known.has(path)) return [path];
  if (Array.isArray(value)) return value.flatMap((each) => pathsIn(each, known, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, own]) => pathsIn(own, known, path === '' ? name : `${path}.${name}`));
}

test('docs/disruption-policy.md is current (npm run generate)', () => {
  expect(bare(readFileSync('docs/disruption-policy.md', 'utf8'))).toBe(bare(policyPage(manifest)));
});

describe('examples in docs/disruption-policy.md', () => {
  const fields = Object.keys(spec.properties ?? {});

  test('use only existing fields', () => {
    expect(Object.keys(examples)).toEqual(fields);
  });

  test.each(fields)('%s is valid, without fields that have no effect', (field) => {
    const object: unknown = parse(policyOf(field));
    const parsed = disruptionPolicies.parse(object);
    expect(parsed).toMatchObject({ ok: true });
    if (parsed.ok) expect(policyProblems(parsed.value, [], now)).toEqual([]);
    // A field that the definition does not know would be dropped without a word.
    expect(parsed).toMatchObject({ value: object as object });
  });

  test('together set every field', () => {
    const leaves = new Set(leavesOf(spec).map(({ path }) => path));
    const set = new Set(fields.flatMap((field) => pathsIn((parse(policyOf(field)) as { spec: unknown }).spec, leaves)));
    expect([...leaves].filter((path) => !set.has(path))).toEqual([]);
  });
});

test("the chart's example policies are valid", () => {
  const text = readFileSync('deploy/chart/examples/disruption-policies.yaml', 'utf8');
  const policies = parseAllDocuments(text).map((document): unknown => document.toJS());
  expect(policies.length).toBeGreaterThan(3);
  for (const policy of policies) expect(disruptionPolicies.parse(policy)).toMatchObject({ ok: true });
});
