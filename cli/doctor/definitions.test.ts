import { describe, expect, test } from 'vitest';
import { crdManifests } from '../../api/crds.js';
import type { Kinds } from '../../kube/port.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { definitionsCheck, firstDifference } from './definitions.js';

type Definition = Kinds['CustomResourceDefinition'];
const established = { conditions: [{ type: 'Established', status: 'True' as const }] };
const [first] = crdManifests();
const name = first?.metadata.name ?? '';

/** The verdict on a cluster with this version's definitions, as `change` leaves them. */
async function verdict(change: (definition: Definition) => Definition | undefined = (each) => each) {
  const kube = createFakeKube();
  for (const manifest of crdManifests()) {
    const { metadata, spec } = manifest as unknown as Definition;
    const definition = { apiVersion: '', kind: '', metadata, spec: structuredClone(spec), status: established };
    const changed = metadata.name === name ? change(definition) : definition;
    if (changed !== undefined) kube.put('CustomResourceDefinition', changed);
  }
  return definitionsCheck(kube).run();
}

describe('doctor check definitions', () => {
  test('is ok with the CRDs of this version, defaults of the API server included', async () => {
    const { state } = await verdict((each) => ({ ...each, spec: { ...each.spec, conversion: { strategy: 'None' } } }));
    expect(state).toBe('ok');
  });

  test.each([
    ['one that is missing', () => undefined, `${name} is missing`],
    [
      'one that is not served',
      (each: Definition): Definition => ({ ...each, status: {} }),
      `${name} is not established`,
    ],
    [
      'an older one',
      (each: Definition): Definition => {
        const spec = each.spec as { versions: { schema: { openAPIV3Schema: { properties: { spec: unknown } } } }[] };
        spec.versions[0]!.schema.openAPIV3Schema.properties.spec = { type: 'object', description: 'old' };
        return each;
      },
      `${name} is not that of this version: spec.versions[0].schema.openAPIV3Schema.properties.spec`,
    ],
  ])('%s', async (_name, change, found) => {
    const answer = await verdict(change);
    expect(answer.state).toBe('failed');
    expect(answer.found).toContain(found);
    expect(answer.mend).toContain('stowage crds --apply');
  });

  test('passes an error of the API server on', async () => {
    const kube = createFakeKube();
    kube.fail(new Error('away'));
    await expect(definitionsCheck(kube).run()).rejects.toThrow('away');
  });
});

describe('first difference of two CRDs', () => {
  test.each([
    [{ a: 1 }, { a: 1, b: 2 }, undefined],
    [{ a: { b: 1 } }, { a: {} }, 'x.a.b'],
    [{ a: { b: 1 } }, {}, 'x.a'],
    [{ a: false, b: 0, c: '', d: [], e: {}, f: { g: false } }, {}, undefined],
    [{ a: [1, 2] }, { a: [1] }, 'x.a'],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, 'x.a[1].b'],
    [{ a: [1] }, { a: { 0: 1 } }, 'x.a'],
    [{ a: { b: 1 } }, { a: 'text' }, 'x.a'],
    [{ a: { b: 1 } }, { a: null }, 'x.a'],
    [{ constructor: 'own' }, {}, 'x.constructor'],
  ])('%j in %j: %s', (wanted, found, path) => {
    expect(firstDifference(wanted, found, 'x')).toBe(path);
  });
});
