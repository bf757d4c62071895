import { labels } from '../../../api/labels.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { budgetOf, critical, drains, ofDaemonSet, protectedPod, tolerating } from './drains.js';
import { deleteNode, end, ending, isThere, left, podOn, providerIdOf, said, runningNode } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

/** Which pods are evicted first, and what is left when they have ended. */
const evicts = (pods: Readonly<Record<string, Parameters<typeof podOn>[2]>>, evicted: readonly string[]): Check =>
  drains(pods, { evicted, left: [] }, async (it) => {
    const going = ending(it, ...Object.keys(pods));
    end(it, ...going);
    return { evicted: going, left: await left(it) };
  });

const inTurn = async (it: Running, names: readonly string[], rounds: number): Promise<string[]> => {
  const turns: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const going = ending(it, ...names);
    turns.push(going.join('+'));
    end(it, ...going);
    await it.pass(15 * second);
  }
  return turns;
};

const lifeCases: readonly ConformanceCase[] = about('node termination', [
  same(
    112,
    'a deleted Node is removed with its instance',
    drains({}, [], (it) => left(it)),
  ),
  same(
    123,
    'a Node without a NodeClaim is removed',
    drains(
      {},
      false,
      async (it) => {
        await it.pass(2 * minute);
        return isThere(it, 'Node');
      },
      { withoutClaim: true },
    ),
  ),
  same(
    [],
    'a Node whose instance is gone is removed after a second look',
    drains(
      {},
      false,
      async (it) => {
        await it.pass(35 * second);
        return isThere(it, 'Node');
      },
      { withoutClaim: true, withoutInstance: true },
    ),
  ),
  same(
    132,
    'a Node with two NodeClaims is removed',
    running(false, async (it) => {
      runningNode(it);
      runningNode(it, 'n2', { withoutInstance: true, withoutNode: true });
      await it.kube.patch(
        'NodeClaim',
        { name: 'n2' },
        { status: { providerID: providerIdOf('n1'), nodeName: 'n1' } },
        { subresource: 'status' },
      );
      await it.pass(second);
      await deleteNode(it, 'n1', 2 * minute);
      return isThere(it, 'Node');
    }),
  ),
  same(
    143,
    'a Node of another provider stays',
    drains({}, ['Node'], (it) => left(it), {
      withoutClaim: true,
      withoutInstance: true,
      node: {
        metadata: { name: 'n1', finalizers: ['karpenter.sh/termination'], labels: { 'example.com/nodeclass': 'x' } },
      },
    }),
  ),
  same(
    152,
    'the NodeClaim of a deleted Node is deleted',
    drains({}, [], (it) => left(it)),
  ),
  same(
    170,
    'ten Nodes at once',
    running([], async (it) => {
      const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
      for (const name of names) runningNode(it, name);
      await it.pass(second);
      for (const name of names) await it.kube.delete('Node', { name });
      await it.pass(2 * minute);
      return names.filter((name) => isThere(it, 'Node', name) || isThere(it, 'NodeClaim', name));
    }),
  ),
  same(
    202,
    'load balancers exclude the node before its drain',
    drains({ web: protectedPod }, 'karpenter', async (it) => {
      await Promise.resolve();
      return it.get('Node', 'n1')?.metadata.labels?.[labels.excludeFromLoadBalancers];
    }),
  ),
]);

const evictionCases: readonly ConformanceCase[] = about('pods of a terminating node', [
  same(225, 'a pod that tolerates the taint by value stays', evicts({ web: {}, kept: tolerating('Equal') }, ['web'])),
  same(256, 'a pod that tolerates the taint by key stays', evicts({ web: {}, kept: tolerating('Exists') }, ['web'])),
  same(
    289,
    'a pod that tolerates unschedulable nodes is evicted',
    evicts(
      {
        web: {
          spec: {
            tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }],
          },
        },
      },
      ['web'],
    ),
  ),
  same(
    317,
    'a pod without an owner is evicted',
    evicts({ web: { metadata: { ownerReferences: undefined } } }, ['web']),
  ),
  same(348, 'finished pods are left', evicts({ done: { phase: 'Succeeded' }, failed: { phase: 'Failed' } }, [])),
  same(
    368,
    'the eviction of a protected pod is repeated',
    running({ evicted: [], hasEvent: true, draining: true, left: [] }, async (it) => {
      runningNode(it);
      podOn(it, 'web');
      budgetOf(it, 'web', 0);
      await it.pass(second);
      await deleteNode(it, 'n1', 30 * second);
      const held = {
        evicted: ending(it, 'web'),
        hasEvent: it.eventReasons('n1').includes('FailedDraining'),
        draining: isThere(it, 'Node'),
      };
      it.kube.remove('Pod', { name: 'web', namespace: 'default' });
      return { ...held, left: await left(it) };
    }),
  ),
  same(
    415,
    'tiers: ordinary, DaemonSets, critical, critical DaemonSets',
    drains(
      {
        plain: {},
        daemon: { metadata: ofDaemonSet },
        'node-critical': critical,
        'cluster-critical': { spec: { priorityClassName: 'system-cluster-critical' } },
        'critical-daemon': { ...critical, metadata: ofDaemonSet },
      },
      { turns: ['plain', 'daemon', 'node-critical+cluster-critical', 'critical-daemon'], left: [] },
      async (it) => {
        const turns = await inTurn(it, ['plain', 'daemon', 'node-critical', 'cluster-critical', 'critical-daemon'], 4);
        return { turns, left: await left(it) };
      },
    ),
  ),
  same(
    485,
    'critical pods are evicted last',
    drains(
      {
        plain: {},
        'node-critical': critical,
        'cluster-critical': { spec: { priorityClassName: 'system-cluster-critical' } },
      },
      { turns: ['plain', 'node-critical+cluster-critical'], left: [] },
      async (it) => ({
        turns: await inTurn(it, ['plain', 'node-critical', 'cluster-critical'], 2),
        left: await left(it),
      }),
    ),
  ),
  same(
    523,
    'static pods stay',
    evicts(
      {
        web: {},
        mirror: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'n1' }] } },
      },
      ['web'],
    ),
  ),
  same(
    564,
    'the Node stays until the last pod is gone',
    drains({ a: {}, b: {} }, ['Unknown/Draining', true, 'Unknown/Draining', true, []], async (it) => {
      const first = said(it, 'Drained');
      end(it, 'b');
      await it.pass(minute / 2);
      const seen = [first, isThere(it, 'Node'), said(it, 'Drained'), isThere(it, 'NodeClaim')];
      end(it, 'a');
      return [...seen, await left(it)];
    }),
  ),
]);

const lostCases: readonly ConformanceCase[] = about('termination of a node without instance', [
  same(
    609,
    'it is removed with its pods',
    drains(
      { a: {}, b: {} },
      { before: true, left: [] },
      async (it) => {
        const before = isThere(it, 'Node');
        end(it, 'b');
        it.cloud.kill(providerIdOf('n1'));
        return { before, left: await left(it, 'n1', 30 * second) };
      },
      { isReady: false },
    ),
  ),
  same(
    643,
    'it stays while its kubelet is Ready',
    drains({ a: {}, b: {} }, ['Node', 'NodeClaim'], async (it) => {
      end(it, 'b');
      it.cloud.kill(providerIdOf('n1'));
      return left(it, 'n1', 30 * second);
    }),
  ),
  same(
    675,
    'a pod stuck terminating for a minute is not waited for',
    drains({ web: {} }, { before: ['Node', 'NodeClaim', 'instance'], after: [] }, async (it) => ({
      before: await left(it, 'n1', 10 * second),
      after: await left(it, 'n1', 2 * minute),
    })),
  ),
  same(
    696,
    'a pod created anew under the same name is another one',
    running(false, async (it) => {
      runningNode(it);
      podOn(it, 'web');
      await it.pass(second);
      const evict = it.kube.evict.bind(it.kube);
      // What was asked for is gone when the request comes, and another has its name.
      Object.assign(it.kube, {
        evict: async (ref: Parameters<typeof evict>[0]) => {
          if (ref.uid === 'pod-web') {
            it.kube.remove('Pod', { name: 'web', namespace: 'default' });
            podOn(it, 'web', { metadata: { uid: 'another' }, spec: { nodeName: 'n2' } });
          }
          return evict(ref);
        },
      });
      await deleteNode(it, 'n1', minute);
      return ending(it, 'web').length > 0 || isThere(it, 'Node');
    }),
  ),
]);

/** pkg/controllers/node/termination/suite_test.go, without its deadlines, volumes and metrics */
export const drainCases: readonly ConformanceCase[] = [...lifeCases, ...evictionCases, ...lostCases];
