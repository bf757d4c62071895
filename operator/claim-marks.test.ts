import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Kind } from '../kube/port.js';
import { finalizers, labels } from '../api/labels.js';
import { DomainError } from '../core/failures.js';
import { createActivityWorld, nodeClaim, nodeClass } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchClaimMarks } from './claim-marks.js';
import type { OperatorContext } from './context.js';

// Rules `labels/of-the-node-class` and `termination/finalizers-stay`.
describe('finalizers and labels that a NodeClaim or its Node lacks', () => {
  let world: ActivityWorld;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('EC2NodeClass', nodeClass('default'));
    stop = () => undefined;
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const conditions = ['Launched', 'Registered'].map((type) => ({ type, status: 'True' as const }));
  const running = { providerID: 'fake:///a/i-1', nodeName: 'n1', conditions };
  const foreign = 'example.com/other';

  const putNode = (more: object = {}): void =>
    void world.kube.put('Node', {
      metadata: { name: 'n1', finalizers: [foreign], ...more },
      spec: { providerID: 'fake:///a/i-1' },
    });
  const start = async (more: Partial<OperatorContext> = {}): Promise<void> => {
    await world.synced();
    stop = watchClaimMarks(operatorContext(world, {}, more));
  };
  const held = (kind: Kind): readonly string[] =>
    (world.deps.cache.all(kind)[0]?.metadata as { finalizers?: readonly string[] } | undefined)?.finalizers ?? [];
  const until = (holds: () => boolean): Promise<void> => world.deps.cache.until(holds, AbortSignal.timeout(5000));

  test('are added on both, and other finalizers stay', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: running }));
    putNode();
    await start();

    await until(() => held('NodeClaim').includes(finalizers.termination));
    await until(() => held('Node').includes(finalizers.termination));
    expect(held('Node')).toContain(foreign);
    expect(world.kube.objects('Node')[0]?.metadata.labels?.[labels.ec2NodeClass]).toBe('default');
  });

  test('are added again as often as they are removed, with growing pauses', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: running }));
    putNode();
    await start();
    await until(() => held('Node').includes(finalizers.termination));

    for (const pauseMs of [1000, 2000]) {
      putNode();
      await world.synced();
      expect(held('Node')).toEqual([foreign]);
      world.clock.now += pauseMs;
      // Any event of the Node has another look.
      putNode({ annotations: { at: String(pauseMs) } });
      await until(() => held('Node').includes(finalizers.termination));
    }
  });

  test('are added again at once after the clock was set back', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: running }));
    putNode();
    await start();
    await until(() => held('Node').includes(finalizers.termination));
    world.clock.now -= 3_600_000;

    putNode();
    await world.synced();
    await until(() => held('Node').includes(finalizers.termination));
  });

  test('are added on the Node though the API server refuses them for the claim', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: running }));
    putNode();
    const { kube } = world.deps;
    const refusing: typeof kube.patch = async (kind, ...args) =>
      kind === 'NodeClaim' ? Promise.reject(new DomainError('Denied', 'no')) : kube.patch(kind, ...args);
    await start({ kube: { ...kube, patch: refusing } });

    await until(() => held('Node').includes(finalizers.termination));
    expect(held('NodeClaim')).toEqual([]);
  });

  test.each([
    ['a claim without an instance, which its launch prepares', { status: {} }, {}],
    ['a claim that is terminated', { status: running, deletionTimestamp: '2026-01-05T11:00:00Z' }, {}],
    ['a Node that is being deleted', { status: running }, { deletionTimestamp: '2026-01-05T11:00:00Z' }],
  ])(
    'are not added where %s',
    async (_, { status, deletionTimestamp }: { status: object; deletionTimestamp?: string }, node) => {
      const claim = nodeClaim('c1', { status });
      const going = deletionTimestamp === undefined ? {} : { deletionTimestamp, finalizers: [foreign] };
      world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, ...going } });
      putNode(node);
      await start();

      // The label is written in the same patch as a finalizer, to the claim before its Node.
      const written = status === running ? 'Node' : 'NodeClaim';
      await until(() => world.deps.cache.all(written)[0]?.metadata.labels?.[labels.ec2NodeClass] === 'default');
      expect(held('Node')).toEqual([foreign]);
      if (Object.keys(node).length === 0) expect(held('NodeClaim')).not.toContain(finalizers.termination);
    },
  );
});
