import { annotations, taints } from '../../../api/labels.js';
import { nodePoolHashVersion } from '../../../disruption/drift/template-hash.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { isThere, podOn, runningNode } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

const pool = { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } };

/** A node of a template that has changed since, with a pod that needs another. */
function drifted(it: Running, name = 'n1'): void {
  runningNode(it, name, {
    claim: {
      annotations: { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: nodePoolHashVersion },
    },
  });
  podOn(it, `on-${name}`, {
    spec: { nodeName: name, containers: [{ name: 'c', image: 'c', resources: { requests: { cpu: '3' } } }] },
  });
}
const isTainted = (it: Running, name = 'n1'): boolean | undefined =>
  it.get('Node', name)?.spec?.taints?.some(({ key }) => key === taints.disrupted.key);
const claims = (it: Running): number => it.kube.objects('NodeClaim').length;

/** Drifted nodes, and what is found some time later. */
const drift = (expected: unknown, afterMs: number, result: (it: Running) => unknown, boots = false, nodes = 1): Check =>
  running(
    expected,
    async (it) => {
      for (let i = 1; i <= nodes; i++) drifted(it, `n${i}`);
      await it.pass(afterMs);
      return result(it);
    },
    { pool, boots },
  );
const waiting = (it: Running): unknown => ({
  tainted: isTainted(it),
  claims: claims(it),
  isThere: isThere(it, 'NodeClaim'),
});
const timeouts =
  'how long a command may take by the length of a queue; each disruption is its own workflow here, and none waits for another';

/** pkg/controllers/disruption/queue_test.go */
export const queueCases: readonly ConformanceCase[] = about('disruption queue', [
  same(
    [89, 123, 148],
    'a node stays tainted while its replacement starts',
    drift({ tainted: true, claims: 2, isThere: true }, 2 * minute, waiting),
  ),
  same(
    179,
    'a node is untainted when its replacement fails',
    drift([true, true], 2 * minute, async (it) => {
      let isLetGo = false;
      for (let step = 0; step < 40 && !isLetGo; step++) {
        await it.pass(minute / 2);
        isLetGo = isTainted(it) !== true;
      }
      return [isLetGo, isThere(it, 'NodeClaim')];
    }),
  ),
  same(
    209,
    'a node is terminated once its replacement is initialized',
    drift([false, 1], 4 * minute, (it) => [isThere(it, 'NodeClaim'), claims(it)], true),
  ),
  same(
    257,
    'a node is not terminated before its replacement is initialized',
    drift({ tainted: true, claims: 2, isThere: true }, 20 * second, waiting, true),
  ),
  same(
    314,
    'a command without replacements does not wait',
    running(
      [false, 0],
      async (it) => {
        runningNode(it, 'n1', {
          claim: {
            annotations: { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: nodePoolHashVersion },
          },
        });
        await it.pass(2 * minute);
        return [isThere(it, 'NodeClaim'), claims(it)];
      },
      { pool },
    ),
  ),
  same(
    339,
    'two nodes wait for a replacement each',
    drift(
      [true, true],
      6 * minute,
      (it) =>
        ['n1', 'n2'].map(
          (name) =>
            it.get('NodeClaim', name)?.metadata.deletionTimestamp !== undefined || !isThere(it, 'NodeClaim', name),
        ),
      true,
      2,
    ),
  ),
  notApplicable([[431, 436]], 'how long a command may take', timeouts),
]);
