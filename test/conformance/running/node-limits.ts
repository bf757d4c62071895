import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { runningNode } from './nodes.js';
import { minute, running, type Running } from './stage.js';

interface Scene {
  readonly replicas: number;
  readonly limit: number;
  /** Nodes that are there before. */
  readonly there?: number;
  /** How many of them are being deleted, and do not end. */
  readonly deleting?: number;
}

/** How many claims a static pool comes to have, those that are being deleted included. */
const claims = (expected: number, { replicas, limit, there = 0, deleting = 0 }: Scene): Check =>
  running(
    expected,
    async (it) => {
      await it.pass(minute);
      return it.kube.objects('NodeClaim').length;
    },
    {
      pool: { replicas, limits: { nodes: String(limit) } },
      boots: true,
      cloud: { terminatesAtOnce: false },
      prepare: (it: Running) => {
        for (let i = 0; i < there; i++) {
          const deletion = i < deleting ? { deletionTimestamp: '2026-01-05T11:59:00Z' } : {};
          runningNode(it, `n${i}`, { claim: deletion });
        }
      },
    },
  );
const memory =
  'room that is held in memory while claims are created; they are counted as they are created here (limits/checked-at-creation)';

/** pkg/controllers/state/statenodepool_test.go */
export const nodeLimitCases: readonly ConformanceCase[] = about('limits.nodes of a static NodePool', [
  same(53, 'grants as many nodes as requested', claims(5, { replicas: 5, limit: 10 })),
  same(62, 'grants as many nodes as there is room', claims(3, { replicas: 5, limit: 3 })),
  same(72, 'grants none without room', claims(0, { replicas: 5, limit: 0 })),
  same(82, 'counts running nodes', claims(3, { replicas: 5, limit: 3, there: 2 })),
  same(96, 'counts deleting nodes', claims(2, { replicas: 2, limit: 2, there: 2, deleting: 1 })),
  notApplicable([107, 129, 146, 159], 'room that is held and given back', memory),
]);
