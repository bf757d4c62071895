import { beforeAll, describe, expect, test } from '@jest/globals';
import { taints } from '../../api/labels.js';
import { hasTaint } from '../../core/taints.js';
import { inCalmCluster, type CalmCluster } from '../simulation/cluster/calm-cluster.js';
import { defaultSpec } from '../simulation/cluster/pools.js';
import { SandboxFactory } from '../simulation/temporal/sandbox.js';
import { testBundle } from './bundle.js';

const second = 1000;
const minute = 60 * second;
const nodes = 6;

// Rule `invariants/pauses-hold`. Time is virtual: no load of the machine changes it.
describe('how soon a pause applies', () => {
  let sandboxes: SandboxFactory;
  beforeAll(async () => {
    sandboxes = new SandboxFactory((await testBundle()).code);
  });

  /** The times of taints by disruptions, deletions of NodeClaims and evictions. */
  const watched = ({
    cluster: { kube },
  }: CalmCluster): { readonly taintedAt: number[]; readonly evictedAt: number[] } => {
    const [taintedAt, evictedAt]: [number[], number[]] = [[], []];
    const patch = kube.patch.bind(kube);
    const evict = kube.evict.bind(kube);
    kube.patch = async (...args) => {
      const before = args[0] === 'Node' ? kube.kept('Node').find(({ metadata }) => metadata.name === args[1].name) : undefined; // prettier-ignore
      const answer = await patch(...args);
      const after = kube.kept('Node').find(({ metadata }) => metadata.name === args[1].name);
      if (before !== undefined && after !== undefined && !hasTaint(before, taints.disrupted) && hasTaint(after, taints.disrupted)) taintedAt.push(Date.now()); // prettier-ignore
      return answer;
    };
    kube.evict = async (...args) => {
      evictedAt.push(Date.now());
      return evict(...args);
    };
    return { taintedAt, evictedAt };
  };
  const pause = { metadata: { name: 'freeze' }, spec: { scope: { kind: 'Cluster' }, message: 'release day' } } as never;
  const withNodes = <T>(disruption: object, act: (scene: CalmCluster) => Promise<T>): Promise<T> =>
    inCalmCluster({ sandboxes, pool: { ...defaultSpec, disruption } }, async (scene) => {
      void scene.set.scaleUp(nodes, 10);
      await scene.pass(20 * minute);
      expect(scene.cluster.kube.kept('Node')).toHaveLength(nodes);
      return act(scene);
    });

  test('what it held is tainted within 15 seconds of its end', async () => {
    await withNodes({ consolidateAfter: '0s', budgets: [{ nodes: '100%' }] }, async (scene) => {
      const { kube } = scene.cluster;
      await kube.create('DisruptionPause', pause);
      void scene.set.scaleDown(0);
      await scene.pass(30 * minute);
      const { taintedAt } = watched(scene);
      expect(kube.kept('NodeClaim')).toHaveLength(nodes);

      await kube.delete('DisruptionPause', { name: 'freeze' });
      const endedAt = Date.now();
      await scene.pass(5 * minute);

      expect(taintedAt).toHaveLength(nodes);
      expect(Math.min(...taintedAt) - endedAt).toBeLessThan(15 * second);
    });
  });

  test('no further node is tainted, and no pod of a further node is evicted, a second after it was ordered', async () => {
    await withNodes({ consolidateAfter: '0s', budgets: [{ nodes: '1' }] }, async (scene) => {
      const { kube } = scene.cluster;
      const { taintedAt, evictedAt } = watched(scene);
      for (const pool of kube.kept('NodePool')) {
        const labels = { ...pool.spec.template.metadata?.labels, release: '2' };
        await kube.patch(
          'NodePool',
          { name: pool.metadata.name ?? '' },
          { spec: { template: { metadata: { labels } } } },
        );
      }
      for (let waited = 0; evictedAt.length < 2 && waited < 3600; waited++) await scene.pass(second);
      expect(evictedAt.length).toBeGreaterThanOrEqual(2);

      await kube.create('DisruptionPause', pause);
      const orderedAt = Date.now();
      await scene.pass(30 * minute);

      expect(Math.max(...taintedAt, ...evictedAt) - orderedAt).toBeLessThan(second);
      expect(kube.kept('NodeClaim').length).toBeGreaterThan(2);
    });
  });
});
