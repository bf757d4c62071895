import { expect, test } from '@jest/globals';
import type { Plan } from './types.js';
import { placesOf, whyNoPlace } from './places.js';

test('places of a plan name every known pod, those too that the pass did not compile', () => {
  const claim = { nodePool: 'default', pods: ['default/b'] } as unknown as Plan['newNodeClaims'][number];
  const places = placesOf({
    existingNodes: [{ node: 'n', pods: ['default/a'] }],
    newNodeClaims: [claim],
    unschedulable: [{ pod: 'default/c', reason: 'too large', blockers: [] }],
    deferred: ['default/d'],
    ignored: ['default/e'],
    pricePerHour: 0,
    lowerBoundPerHour: 0,
  });

  expect([...places].map(([pod, { state }]) => [pod, state])).toEqual([
    ['default/a', 'existing'],
    ['default/b', 'launched'],
    ['default/c', 'unschedulable'],
    ['default/d', 'deferred'],
    ['default/e', 'ignored'],
  ]);
  expect([...places.values()].map((place) => whyNoPlace(place) === undefined)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});
