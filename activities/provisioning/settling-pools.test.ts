import { describe, expect, test } from 'vitest';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { nodePool } from '../../test/builders/activity-world.js';
import { areSettling } from './settling-pools.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1_000).toISOString();

function pool(ready: 'True' | 'False' | 'Unknown' | undefined, secondsAgo: number, spec: object = {}): NodePool {
  const made = nodePool('a');
  const conditions = [{ type: 'Ready', status: ready ?? 'Unknown', lastTransitionTime: at(secondsAgo) }];
  return {
    ...made,
    metadata: { ...made.metadata, creationTimestamp: at(secondsAgo) },
    spec: { ...made.spec, ...spec },
    ...(ready === undefined ? { status: {} } : { status: { conditions } }),
  };
}

describe('NodePools that are not ready yet (scheduling/no-ready-node-pool)', () => {
  test.each([
    ['nobody has looked at the only one', [pool(undefined, 5)], true],
    ['it is not known yet', [pool('Unknown', 59)], true],
    ['it is not known for a minute', [pool('Unknown', 60)], false],
    ['nobody has looked at it for a minute', [pool(undefined, 60)], false],
    ['it is known not to be ready', [pool('False', 5)], false],
    ['another is ready', [pool('Unknown', 5), pool('True', 5)], false],
    ['another is not', [pool('Unknown', 5), pool('False', 500)], true],
    ['the one that is ready is static', [pool('Unknown', 5), pool('True', 5, { replicas: 2 })], true],
    ['there is none', [], false],
  ])('%s', (_, pools, expected) => {
    expect(areSettling(pools, now)).toBe(expected);
  });
});
