import { beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import type { ManualClock } from '../test/builders/manual-clock.js';
import { createEventRecorder } from './events.js';
import type { EventRecorderOptions } from './events.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import type { EventToPublish } from './port.js';

describe('the event recorder', () => {
  let kube: FakeKube;
  let clock: ManualClock;
  beforeEach(() => {
    kube = createFakeKube();
    clock = createManualClock();
  });
  const recorder = (more: Partial<EventRecorderOptions> = {}) =>
    createEventRecorder({ client: kube, clock, instance: 'stowage-0', ...more });
  const event = (more: Partial<EventToPublish> = {}): EventToPublish => ({
    regarding: { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'pool-1', uid: 'u1' },
    type: 'Normal',
    reason: 'DisruptionBlocked',
    message: 'Pod has a do-not-disrupt annotation',
    ...more,
  });

  test('an event has the fields that Karpenter writes', async () => {
    const events = recorder();
    events.publish(event());
    await events.idle();
    expect(kube.objects('Event')).toMatchObject([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace: 'default', name: expect.stringMatching(/^pool-1\.[0-9a-f]{16}$/) as unknown },
        involvedObject: { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'pool-1', uid: 'u1' },
        type: 'Normal',
        reason: 'DisruptionBlocked',
        message: 'Pod has a do-not-disrupt annotation',
        count: 1,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        source: { component: 'karpenter' },
        reportingComponent: 'karpenter',
        reportingInstance: 'stowage-0',
      },
    ]);
  });

  // Rule `events/repeats`.
  test('an equal event is published once in two minutes, then its count is increased', async () => {
    const events = recorder();
    for (const pause of [0, 119_999, 1]) {
      await clock.advance(pause);
      events.publish(event());
    }
    await events.idle();
    expect(kube.objects('Event')).toMatchObject([
      { count: 2, firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:02:00Z' },
    ]);
  });

  test('an event is published again after the clock was set back', async () => {
    let time = clock.now();
    const events = createEventRecorder({ client: kube, clock: { ...clock, now: () => time } });
    for (const change of [0, 1000, -86_400_000, 1000]) {
      time += change;
      events.publish(event());
    }
    await events.idle();
    expect(kube.objects('Event')).toMatchObject([{ count: 2 }]);
  });

  test('events are distinct by object and message, or by the given values alone', async () => {
    const events = recorder();
    events.publish(event());
    events.publish(event({ regarding: { apiVersion: 'v1', kind: 'Node', name: 'n' } }));
    events.publish(event({ message: 'PDB prevents pod evictions' }));
    const dedupeBy = ['u1'];
    events.publish(event({ reason: 'Nominated', message: 'a', dedupeBy }));
    events.publish(event({ reason: 'Nominated', message: 'b', dedupeBy }));
    events.publish(event({ reason: 'Evicted', message: 'b', dedupeBy }));
    await events.idle();
    const said = kube.objects('Event').map(({ reason, message }) => `${reason ?? ''}: ${message ?? ''}`);
    expect(said.sort()).toEqual([
      'DisruptionBlocked: PDB prevents pod evictions',
      'DisruptionBlocked: Pod has a do-not-disrupt annotation',
      'DisruptionBlocked: Pod has a do-not-disrupt annotation',
      'Evicted: b',
      'Nominated: a',
    ]);
  });

  test('an event with its own period is repeated after that', async () => {
    const events = recorder();
    events.publish(event({ dedupeMs: 60_000 }));
    await clock.advance(60_000);
    events.publish(event({ dedupeMs: 60_000 }));
    await events.idle();
    expect(kube.objects('Event')).toMatchObject([{ count: 2 }]);
  });

  // Rule `events/nominations-limited`.
  test('nominations are limited to five a second after a burst of ten, and delay no other event', async () => {
    const events = recorder();
    const nominate = (from: number, to: number): void => {
      for (let i = from; i < to; i++) events.publish(event({ reason: 'Nominated', message: `pod ${i}` }));
    };
    nominate(0, 20);
    for (let i = 0; i < 20; i++) events.publish(event({ message: `block ${i}` }));
    await events.idle();
    const count = (reason: string): number =>
      kube.objects('Event').filter((written) => written.reason === reason).length;
    expect([count('Nominated'), count('DisruptionBlocked')]).toEqual([10, 20]);
    await clock.advance(1000);
    nominate(100, 120);
    await events.idle();
    expect(count('Nominated')).toBe(15);
  });

  test('an event is created again when the one to count up no longer exists', async () => {
    const events = recorder();
    events.publish(event());
    await events.idle();
    for (const { metadata } of kube.objects('Event'))
      kube.remove('Event', { namespace: 'default', name: metadata.name! });
    await clock.advance(120_000);
    events.publish(event());
    await events.idle();
    expect(kube.objects('Event')).toMatchObject([{ count: 1, firstTimestamp: '2026-01-01T00:02:00Z' }]);
  });

  test('an event is in the namespace of its object, under a valid name', async () => {
    const events = recorder();
    const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: 'web', name: 'x'.repeat(253) };
    events.publish(event({ regarding, message: 'm'.repeat(2000) }));
    await events.idle();
    const [written] = kube.objects('Event');
    expect(written?.metadata.namespace).toBe('web');
    expect(written?.metadata.name).toHaveLength(253);
    expect(written?.message).toHaveLength(1024);
  });

  test('a failed write of an event is dropped without throwing, and later ones are written', async () => {
    const lost: string[] = [];
    const events = recorder({ onFailure: ({ message }, error) => lost.push(`${message}: ${error.message}`) });
    kube.fail(new DomainError('Unavailable', 'down'));
    events.publish(event({ message: 'one' }));
    await events.idle();
    kube.fail(undefined);
    events.publish(event({ message: 'two' }));
    await events.idle();
    expect(lost).toEqual(['one: down']);
    expect(kube.objects('Event').map(({ message }) => message)).toEqual(['two']);
  });
});
