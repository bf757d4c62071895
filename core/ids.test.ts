import { describe, expect, test } from '@jest/globals';
import { canonicalJson, hashText } from './hash.js';
import { launchToken, parseWorkflowId, workflowIds } from './ids.js';

describe('workflow ids', () => {
  test.each([
    [workflowIds.provision('prod'), 'provision', []],
    [workflowIds.launch('prod', 'u-1'), 'launch', ['u-1']],
    [workflowIds.drift('prod', 'p-1', 'abc'), 'drift', ['p-1', 'abc']],
  ])('%s can be parsed back', (id, kind, subject) => {
    expect(parseWorkflowId(id)).toEqual({ cluster: 'prod', kind, subject });
  });

  test("a workflow id of another application is not parsed as one of Stowage's", () => {
    expect(parseWorkflowId('prod/order/17')).toBeUndefined();
    expect(parseWorkflowId('order')).toBeUndefined();
  });

  test('the id of a consolidation is a hash of its candidates in any order', () => {
    const id = workflowIds.consolidate('prod', ['b', 'a']);
    expect(id).toBe(workflowIds.consolidate('prod', ['a', 'b']));
    expect(id).not.toBe(workflowIds.consolidate('prod', ['a', 'c']));
  });

  test('a launch token fits into a ClientToken', () => {
    const uid = '6f2a8d0e-5ad5-4f6c-9b7e-0d8f3d9a1c11';
    expect(launchToken(uid)).toBe(uid);
    expect(launchToken(uid, 2).length).toBeLessThanOrEqual(64);
  });
});

describe('hashes', () => {
  test('are FNV-1a, 64 bits', () => {
    expect(hashText('')).toBe('cbf29ce484222325');
    expect(hashText('a')).toBe('af63dc4c8601ec8c');
    expect(hashText('foobar')).toBe('85944171f73967e8');
  });

  test('canonical JSON ignores the order of keys, not of lists', () => {
    expect(canonicalJson({ b: { d: 1, c: 2 }, a: [2, 1] })).toBe('{"a":[2,1],"b":{"c":2,"d":1}}');
  });
});
