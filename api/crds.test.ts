import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { build, type CrdRow, type Patch } from '../test/integration/crd-case-helpers.js';
import { crdRows } from '../test/integration/crd-cases.js';
import { crdManifests, customResourceOf, customResources } from './crds.js';
import type { KubernetesObject } from './kubernetes.js';
import type { Issue } from './schema/issues.js';
import type { OpenApiSchema } from './schema/openapi.js';
import type { CelValidation } from './schema/rules.js';
import type { Resource } from './schema/resource.js';

function resourceOf(kind: string): Resource<KubernetesObject> {
  const found = customResources.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`No resource of kind ${kind}`);
  return found;
}

function issuesOf({ kind, from }: CrdRow, patch: Patch): readonly Issue[] {
  const resource = resourceOf(kind);
  if (from !== undefined) return resource.updateIssues(build(kind, from, patch), build(kind, from));
  const parsed = resource.parse(build(kind, patch));
  return parsed.ok ? [] : parsed.error;
}

const show = (patch: Patch): string => JSON.stringify(patch).slice(0, 160);

describe.each(crdRows.map((row) => [`${row.kind}: ${row.rule}`, row] as const))('%s', (_title, row) => {
  test.each(row.accepts.map((patch) => [show(patch), patch] as const))('accepts %s', (_text, patch) => {
    expect(issuesOf(row, patch)).toEqual([]);
  });

  test.each(row.refuses.map((patch) => [show(patch), patch] as const))('refuses %s', (_text, patch) => {
    const issues = issuesOf(row, patch);

    expect(issues).not.toEqual([]);
    for (const { path, message, severity } of issues) {
      expect({ path, message, severity }).toEqual({
        path: expect.stringMatching(/^(spec|metadata)/),
        message: expect.stringContaining(path),
        severity: 'error',
      });
    }
  });
});

/** A rule of a manifest: its path, and what zod says is allowed there when it is broken. */
interface Constraint {
  readonly at: string;
  readonly allowed: string;
}

const bounds: readonly (readonly [keyword: string, text: (limit: unknown) => string])[] = [
  ['minLength', (limit) => `at least ${String(limit)} characters`],
  ['maxLength', (limit) => `at most ${String(limit)} characters`],
  ['minItems', (limit) => `at least ${String(limit)} items`],
  ['maxItems', (limit) => `at most ${String(limit)} items`],
  ['maxProperties', (limit) => `at most ${String(limit)} entries`],
  ['minimum', (limit) => `at least ${String(limit)}`],
  ['maximum', (limit) => `at most ${String(limit)}`],
  ['pattern', (pattern) => `matching ${String(pattern)}`],
  ['enum', (values) => `one of ${(values as unknown[]).join(', ')}`],
];

/** Every constraint at and below `schema`. */
function constraints(schema: OpenApiSchema, at: string): Constraint[] {
  const own = bounds
    .filter(([keyword]) => schema[keyword] !== undefined)
    .map(([keyword, text]) => ({ at, allowed: text(schema[keyword]) }));
  const cel = ((schema['x-kubernetes-validations'] ?? []) as CelValidation[]).map(({ message, fieldPath = '' }) => ({
    at: `${at}${fieldPath}`,
    allowed: message,
  }));
  const set = schema['x-kubernetes-list-type'] === 'set' ? [{ at, allowed: 'each value once' }] : [];
  const required = (schema.required ?? []).map((name) => ({ at: `${at}.${name}`, allowed: 'required' }));
  return [
    ...own,
    ...cel,
    ...set,
    ...required,
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => constraints(child, `${at}.${name}`)),
    ...(schema.items === undefined ? [] : constraints(schema.items, `${at}[]`)),
    ...(schema.additionalProperties === undefined ? [] : constraints(schema.additionalProperties, `${at}{}`)),
  ];
}

/** The place in the schema that an issue's path leads to: `spec.taints[].key`, `spec.limits{}`. */
function placeOf(schema: OpenApiSchema, path: string): string {
  let at: OpenApiSchema | undefined = { properties: { spec: schema } };
  let place = '';
  for (const [, inBrackets, plain] of path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    const name = inBrackets ?? plain ?? '';
    if (at?.items !== undefined) [place, at] = [`${place}[]`, at.items];
    else if (at?.additionalProperties !== undefined) [place, at] = [`${place}{}`, at.additionalProperties];
    else [place, at] = [place === '' ? name : `${place}.${name}`, at?.properties?.[name]];
  }
  return place;
}

describe.each(crdManifests().map((crd) => [crd.spec.names.kind, crd] as const))('%s manifest', (kind, crd) => {
  const spec = crd.spec.versions[0]!.schema.openAPIV3Schema.properties!['spec']!;
  const rows = crdRows.filter((row) => row.kind === kind);
  const refusals = rows.flatMap((row) => row.refuses.flatMap((patch) => issuesOf(row, patch)));
  const refused = refusals.map(({ path, message, found }) => ({ at: placeOf(spec, path), message, found }));

  test('every constraint of the CRD has a refused case', () => {
    const missing = constraints(spec, 'spec').filter(
      ({ at, allowed }) =>
        !refused.some((each) => {
          const same = [at, `${at}[]`, `${at}{}`].includes(each.at);
          return same && (allowed === 'required' ? each.found === undefined : each.message.includes(allowed));
        }),
    );

    expect(missing).toEqual([]);
  });

  test('every rule has accepted and refused cases', () => {
    expect(rows.filter(({ accepts, refuses }) => accepts.length === 0 || refuses.length === 0)).toEqual([]);
  });

  test('the checked-in CRD is the one generated from the schemas', () => {
    const file = readFileSync(new URL(`../deploy/crds/${crd.metadata.name}.yaml`, import.meta.url), 'utf8');

    expect(file).toBe(stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false }));
  });
});

test('deploy/crds has no other files', () => {
  const files = readdirSync(new URL('../deploy/crds/', import.meta.url)).sort();

  expect(files).toEqual(
    crdManifests()
      .map(({ metadata }) => `${metadata.name}.yaml`)
      .sort(),
  );
});

// Rule `labels/names`.
test('the names of the CRDs are those of Karpenter', () => {
  expect(crdManifests().map(({ metadata }) => metadata.name)).toEqual([
    'nodepools.karpenter.sh',
    'nodeclaims.karpenter.sh',
    'nodeoverlays.karpenter.sh',
    'ec2nodeclasses.karpenter.k8s.aws',
    'kwoknodeclasses.karpenter.kwok.sh',
    'disruptionpolicies.stowage.dev',
    'disruptionpauses.stowage.dev',
    'capacitybuffers.autoscaling.x-k8s.io',
  ]);
});

test('customResourceOf finds a kind by apiVersion and kind', () => {
  expect(customResourceOf('karpenter.sh/v1', 'NodePool')?.plural).toBe('nodepools');
  expect(customResourceOf('karpenter.sh/v1beta1', 'NodePool')).toBeUndefined();
});
