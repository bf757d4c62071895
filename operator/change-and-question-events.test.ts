import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { publishChanges } from './change-events.js';
import { QuestionEvents, type QuestionFound } from './question-events.js';

describe('Kubernetes events about refusals, pauses, launches and questions', () => {
  let world: ActivityWorld;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { nodeName: 'n1' } }));
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
    stop = publishChanges(world.deps);
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const published = () => world.events.map(({ reason, regarding: { kind, name } }) => `${reason} ${kind}/${name}`);
  const untilPublished = (text: string) =>
    world.deps.cache.until(() => published().includes(text), AbortSignal.timeout(5000));

  test('a refusal and its end are events on the node or NodePool concerned (events/of-people)', async () => {
    const claim = world.deps.cache.get('NodeClaim', { name: 'c1' })!;
    await world.kube.patch(
      'NodeClaim',
      { name: 'c1' },
      { metadata: { annotations: { [annotations.expirationDeclined]: 'rejected by ann' } } },
    );
    await untilPublished('ExpirationDeclined NodeClaim/c1');
    expect(world.events[0]?.message).toBe('It does not expire: rejected by ann');
    await world.kube.patch(
      'NodeClaim',
      { name: 'c1' },
      { metadata: { annotations: { [annotations.expirationDeclined]: null } } },
    );
    await untilPublished('ExpirationReconsidered NodeClaim/c1');
    await world.kube.patch(
      'NodePool',
      { name: 'default' },
      { metadata: { annotations: { [annotations.driftStopped]: 'x' } } },
    );
    await untilPublished('RolloutStopped NodePool/default');
    expect(claim.metadata.name).toBe('c1');
  });

  test('a pause and its end are events on what is paused (events/of-people)', async () => {
    const pause = {
      metadata: { name: 'p' },
      spec: { scope: { kind: 'Node', name: 'n1' }, message: 'audit', requestedBy: 'ann' },
    };
    world.kube.put('DisruptionPause', pause as never);
    await untilPublished('DisruptionPaused Node/n1');
    expect(world.events[0]?.message).toBe('Voluntary disruption of Node n1 is paused by ann: audit');
    const { uid = '' } = world.deps.cache.get('DisruptionPause', { name: 'p' })!.metadata;
    await world.kube.delete('DisruptionPause', { name: 'p' }, { uid });
    await untilPublished('DisruptionResumed Node/n1');
  });

  test('a launch is one event, and nodes that existed before give none (events/of-nodes)', async () => {
    expect(published()).toEqual([]);
    const conditions = [{ type: 'Launched', status: 'True' as const }];
    await world.kube.patch('NodeClaim', { name: 'c1' }, { status: { conditions } }, { subresource: 'status' } as never);
    await untilPublished('Launched NodeClaim/c1');
    await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { labels: { a: 'b' } } });
    await world.synced();
    expect(published()).toEqual(['Launched NodeClaim/c1']);
  });

  test('a question is one event on node and claim or on the NodePool, and another when it is asked anew (events/of-questions)', async () => {
    const question: QuestionFound = { key: 'w r', nodeClaim: 'c1', nodePool: 'default', text: 'approval' };
    let open: readonly QuestionFound[] = [question];
    const news = new QuestionEvents(world.deps, async (known) =>
      Promise.resolve(open.map((one) => (known.has(one.key) ? { ...one, text: '' } : one))),
    );
    await news.publishNew();
    await news.publishNew();
    expect(published()).toEqual(['AwaitsApproval NodeClaim/c1', 'AwaitsApproval Node/n1']);

    open = [{ ...question, key: 'rollout', nodeClaim: '' }];
    await news.publishNew();
    expect(published().at(-1)).toBe('AwaitsApproval NodePool/default');
    open = [question];
    await news.publishNew();
    expect(published()).toHaveLength(5);
  });
});
