import { expect, test } from '@jest/globals';
import { pauseStops } from './pause-scope.js';

const node = { node: 'node-1', nodePool: 'gpu' };

test.each([
  [{ kind: 'cluster' }, 'Drifted', true],
  [{ kind: 'nodePool', name: 'gpu' }, 'Drifted', true],
  [{ kind: 'nodePool', name: 'default' }, 'Drifted', false],
  [{ kind: 'nodePool', name: 'gpu', reason: 'Drifted' }, 'Drifted', true],
  [{ kind: 'nodePool', name: 'gpu', reason: 'Empty' }, 'Drifted', false],
  [{ kind: 'reason', name: 'Drifted' }, 'Drifted', true],
  [{ kind: 'reason', name: 'Empty' }, 'Drifted', false],
  [{ kind: 'node', name: 'node-1' }, 'Drifted', true],
  [{ kind: 'node', name: 'gpu' }, 'Drifted', false],
] as const)(
  'a pause of %j stops a disruption of node-1 in NodePool gpu for %s: %s (invariants/pauses-hold)',
  (scope, reason, stops) => {
    expect(pauseStops(scope, reason, node)).toBe(stops);
  },
);
