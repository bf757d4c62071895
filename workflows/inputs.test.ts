import { describe, expect, test } from '@jest/globals';
import * as workflows from './index.js';
import { workflowIds } from '../core/ids.js';
import { inputShapes, malformedInput, wrongId } from './inputs.js';
import { Unreadable } from './unreadable.js';

describe('inputs of workflows', () => {
  test('are validated for every workflow type', () => {
    expect([...inputShapes.keys()].sort()).toEqual(Object.keys(workflows).sort());
  });

  test.each(Object.keys(workflows))('of %s without a required field are refused', (type) => {
    for (const nonsense of [undefined, null, 'nonsense', 42, [], {}, { cluster: 7 }])
      expect(malformedInput(type, [nonsense])).toMatch(/is (missing|null|"nonsense"|42|\[\]|7): give /);
  });

  test('name the field, what was found and what is allowed', () => {
    const input = { cluster: 'c', claim: { name: 'n', uid: 5 }, nodePool: 'p' };
    expect(malformedInput('launchNode', [input])).toBe('claim.uid is 5: give a string');
    expect(malformedInput('launchNode', [new Unreadable('a payload without an encoding cannot be read')])).toContain(
      'cannot be read',
    );
  });

  test('have valid times and durations, and at least one node', () => {
    const claim = { name: 'n', uid: 'u' };
    const input = { cluster: 'c', claim, nodePool: 'p', expiresAt: 1e300 };
    expect(malformedInput('expireNode', [input])).toMatch('expiresAt is 1e+300: give ');
    const notices = [{ kind: 'spot_interrupted', instanceId: 'i', at: 1e300, messageId: 'm' }];
    expect(malformedInput('handleInterruption', [{ cluster: 'c', instanceId: 'i', notices }])).toMatch(
      'notices[0].at is ',
    );
    const command = { id: 'i', nodes: [], finishedAt: 1 };
    expect(malformedInput('measureSavings', [{ cluster: 'c', command }])).toBe(
      'command.nodes is []: give at least one',
    );
  });

  test('may have unknown fields', () => {
    expect(malformedInput('disrupt', [{ cluster: 'c', fromTheFuture: true }])).toBeUndefined();
  });
});

describe('ids of workflows', () => {
  const claim = { name: 'n', uid: 'u' };
  const ofClaim = { cluster: 'c', claim, nodePool: 'p' };

  test.each<[string, object, string]>([
    ['provision', { cluster: 'c' }, workflowIds.provision('c')],
    ['disrupt', { cluster: 'c' }, workflowIds.disrupt('c')],
    ['offerings', { cluster: 'c' }, workflowIds.offerings('c')],
    ['launchNode', ofClaim, workflowIds.launch('c', 'u')],
    ['terminateNode', { ...ofClaim, reason: 'r' }, workflowIds.terminate('c', 'u')],
    ['expireNode', { ...ofClaim, expiresAt: 1 }, workflowIds.expire('c', 'u')],
    ['repairNode', ofClaim, workflowIds.repair('c', 'u')],
    ['keepReplicas', { cluster: 'c', nodePool: 'p', poolUid: 'u' }, workflowIds.replicas('c', 'u')],
    ['handleInterruption', { cluster: 'c', instanceId: 'i-1' }, workflowIds.interrupt('c', 'i-1')],
    ['replaceDrifted', { cluster: 'c', nodePool: 'p', poolUid: 'u', hash: 'h' }, workflowIds.drift('c', 'u', 'h')],
    ['replaceNode', { cluster: 'c', candidate: { claim, node: 'n', nodePool: 'p' } }, workflowIds.replace('c', 'u')],
    ['consolidate', { cluster: 'c', candidates: [{ claim }] }, workflowIds.consolidate('c', ['u'])],
  ])('of %s follow from the object, so that no two do the same', (type, input, id) => {
    expect(wrongId(type, id, [input])).toBeUndefined();
    expect(wrongId(type, `${id}-2`, [input])).toBe(`its id is ${id}-2: give ${id}`);
  });

  test('of measureSavings may be any, since a command chooses it', () => {
    expect(wrongId('measureSavings', 'any', [{ cluster: 'c' }])).toBeUndefined();
  });
});
