import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { finalizers, labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim, type ActivityWorld } from '../test/builders/activity-world.js';
import type { OperatorContext } from './context.js';
import { watchGarbage } from './watch-garbage.js';

const providerID = 'fake:///a/i-1';
let world: ActivityWorld;
let stop: () => void;
/** Each look asks what time it is once, at its end: there are no instances whose age it needs. */
let looks: () => number;

beforeEach(async () => {
  world = await createActivityWorld();
  const now = vi.fn(() => world.clock.now);
  looks = () => now.mock.calls.length;
  stop = watchGarbage({ ...world.deps, now } as unknown as OperatorContext);
});
afterEach(() => {
  stop();
  world.stop();
});

/** A Node that somebody deletes, and what the watch has seen of that. */
async function deleted(name: string, metadata: object = {}): Promise<void> {
  const own = { [labels.nodePool]: 'default' };
  world.kube.put('Node', {
    metadata: { name, labels: own, finalizers: [finalizers.termination], ...metadata },
    spec: { providerID },
  });
  await world.kube.delete('Node', { name });
  await world.synced();
}
const nodes = (): unknown[] => world.kube.objects('Node').map(({ metadata }) => metadata.name);

// Rule `garbage-collection/nodes-without-claim`.
test('a Node without a claim is checked at once, and released at a second check half a minute later', async () => {
  await deleted('n1');
  await vi.waitFor(() => expect(looks()).toBe(1));
  world.clock.now += 29_000;
  await deleted('n2');
  await vi.waitFor(() => expect(looks()).toBe(2));
  expect(nodes()).toEqual(['n1', 'n2']);

  world.clock.now += 1000;
  await deleted('n3');

  await vi.waitFor(() => expect(nodes()).toEqual(['n2', 'n3']));
});

test('a Node with a claim is not collected until the claim is gone', async () => {
  world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID } }));
  await world.synced();
  await deleted('n1');
  expect(looks()).toBe(0);

  world.kube.remove('NodeClaim', { name: 'c1' });
  await world.synced();

  await vi.waitFor(() => expect(looks()).toBe(1));
});

test('a Node without a NodePool, or that only other finalizers keep, is not collected', async () => {
  await deleted('n1', { labels: {} });
  await deleted('n2', { finalizers: ['example.com/held'] });
  expect(looks()).toBe(0);
});
