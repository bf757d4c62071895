import * as kubernetes from '@kubernetes/client-node';
import { expect, test } from '@jest/globals';
import { misspeltFields, type Check } from './check.js';
import { builtInShapes } from './shapes.js';

interface Attributes {
  getAttributeTypeMap?(): readonly { readonly baseName: string; readonly type: string }[];
}
const types = new Map(Object.entries(kubernetes as object as Record<string, Attributes>));

/** Fields of Kubernetes, wherever they are in an object of that type, that would be taken for misspelt ones. */
function takenFor(type: string, check: Check | undefined, path: string): string[] {
  const of = check?.entries ?? check;
  const fields = of?.fields;
  const attributes = types.get(type)?.getAttributeTypeMap?.() ?? [];
  if (of === undefined || fields === undefined) return [];
  return attributes.flatMap(({ baseName, type: inner }) => [
    ...misspeltFields({ [baseName]: 0 }, of, path).map(([field, meant]) => `${field}: ${meant}`),
    ...takenFor(
      inner.replace(/^Array<(.*)>$/, '$1'),
      new Map(Object.entries(fields)).get(baseName),
      `${path}.${baseName}`,
    ),
  ]);
}

test.each(Object.keys(builtInShapes))('no field of a Kubernetes %s is taken for a misspelt one', (kind) => {
  expect(types.get(`V1${kind}`)).toBeDefined();
  expect(takenFor(`V1${kind}`, builtInShapes[kind], kind)).toEqual([]);
});
