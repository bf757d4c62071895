import { describe, expect, test } from '@jest/globals';
import { parseInterruption } from './interruption-queue.js';
import { readStatus } from './status-poll.js';

const id = 'i-0123456789abcdef0';
const event = (source: string, type: string, detail: object, more: object = {}) =>
  JSON.stringify({
    version: '0',
    id: 'e1',
    source,
    'detail-type': type,
    time: '2026-11-21T10:00:00Z',
    detail,
    ...more,
  });
const at = Date.parse('2026-11-21T10:00:00Z');
const own = { account: '111122223333', region: 'us-west-2' };
const parse = (body: string, now = at) => parseInterruption(body, { sqsMessageId: 'm1', now, own });

describe('parseInterruption', () => {
  test.each([
    [
      'EC2 Spot Instance Interruption Warning',
      { 'instance-id': id, 'instance-action': 'terminate' },
      'spot_interrupted',
    ],
    ['EC2 Instance Rebalance Recommendation', { 'instance-id': id }, 'rebalance_recommendation'],
    [
      'EC2 Capacity Reservation Instance Interruption Warning',
      { 'instance-id': id },
      'capacity_reservation_interrupted',
    ],
    ['EC2 Instance State-change Notification', { 'instance-id': id, state: 'stopping' }, 'instance_stopped'],
    ['EC2 Instance State-change Notification', { 'instance-id': id, state: 'stopped' }, 'instance_stopped'],
    ['EC2 Instance State-change Notification', { 'instance-id': id, state: 'shutting-down' }, 'instance_terminated'],
    ['EC2 Instance State-change Notification', { 'instance-id': id, state: 'terminated' }, 'instance_terminated'],
  ])('%s %j', (type, detail, kind) => {
    expect(parse(event('aws.ec2', type, detail, own))).toEqual({
      kind: 'interruptions',
      interruptions: [{ kind, instanceId: id, at, messageId: `e1/${id}` }],
    });
  });

  test('a scheduled change names each instance that it concerns', () => {
    const detail = {
      service: 'EC2',
      eventTypeCategory: 'scheduledChange',
      affectedEntities: [{ entityValue: id }, { entityValue: 'i-1' }, { entityValue: 'vol-1' }],
    };
    const parsed = parse(event('aws.health', 'AWS Health Event', detail));
    expect(parsed).toMatchObject({
      interruptions: [{ kind: 'scheduled_change', instanceId: id }, { instanceId: 'i-1' }],
    });
  });

  test.each([
    ['no JSON', 'malformed'],
    ['[]', 'malformed'],
    [event('aws.ec2', 'EC2 Spot Instance Interruption Warning', {}), 'malformed'],
    [
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': id }, { version: '1' }),
      'unknown version',
    ],
    [event('aws.ec2', 'EC2 Instance State-change Notification', { 'instance-id': id, state: 'running' }), 'no-op'],
    [event('aws.health', 'AWS Health Event', { service: 'RDS', eventTypeCategory: 'scheduledChange' }), 'no-op'],
    [event('aws.s3', 'Anything', {}), 'no-op'],
    [
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': id }, { account: '444455556666' }),
      'another account',
    ],
    [
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': id }, { region: 'eu-west-1' }),
      'another region',
    ],
    [
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': id }, { account: 111122223333 }),
      'another account',
    ],
  ])('%s is ignored', (body, reason) => {
    expect(parse(body)).toEqual({ kind: 'ignored', reason });
  });

  test('a message without id and time is known by the queue’s id, and is of now', () => {
    const body = event(
      'aws.ec2',
      'EC2 Instance Rebalance Recommendation',
      { 'instance-id': id },
      { id: undefined, time: 'soon' },
    );
    expect(parse(body, 7)).toMatchObject({ interruptions: [{ at: 7, messageId: `m1/${id}` }] });
  });

  test('has bounded values and no time in the future, and no message stays on the queue for that', () => {
    const spot = (instanceId: string, more: object = {}) =>
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': instanceId }, more);
    expect(parse(spot(`i-${'f'.repeat(100_000)}`))).toEqual({
      kind: 'ignored',
      reason: 'malformed',
    });
    const odd = spot(id, { id: 'e'.repeat(100_000), time: '9999-12-31T00:00:00Z' });
    expect(parse(odd)).toMatchObject({ interruptions: [{ at, messageId: `m1/${id}` }] });
  });
});

describe('instance status', () => {
  const failed = (since: number) => ({
    Status: 'impaired' as const,
    Details: [{ Status: 'failed' as const, ImpairedSince: new Date(since) }],
  });

  test('an impaired check counts after 120 s, as one notice at every look (interruption/status-checks)', () => {
    const status = { InstanceId: id, SystemStatus: failed(0) };
    expect(readStatus(status, 119_999)).toEqual([]);
    const [first] = readStatus(status, 120_000);
    expect(first).toEqual({ kind: 'system_status', instanceId: id, at: 0, messageId: `system_status/${id}/0` });
    expect(readStatus(status, 300_000)).toEqual([first]);
    expect(readStatus({ InstanceId: id, InstanceStatus: failed(0) }, 120_000)[0]?.kind).toBe('instance_status');
  });

  test('scheduled events count at once, unless they are over or of another kind', () => {
    const Events = [
      { Code: 'instance-retirement' as const, InstanceEventId: 'e1', Description: 'The instance is retiring' },
      { Code: 'system-reboot' as const, InstanceEventId: 'e2', Description: '[Completed] rebooted' },
    ];
    expect(readStatus({ InstanceId: id, Events }, 5)).toEqual([
      { kind: 'event_status', instanceId: id, at: 5, messageId: `event_status/${id}/e1` },
    ]);
  });
});
