import { describe, expect, test } from '@jest/globals';
import type { Called } from './called.js';
import type { RecordedCall } from './recording.js';
import { Replay } from './replay.js';

const recorded = (action: string, params: object, body: string, status = 200): RecordedCall => {
  return { step: 's', service: 'ec2', action, params, status, contentType: 'text/xml', body };
};
const called = (action: string, params: Record<string, unknown>): Called => {
  return { service: 'ec2', action, protocol: 'ec2', params };
};
const replayOf = (...calls: RecordedCall[]): Replay =>
  new Replay({ version: 1, recordedAt: '2026-11-25T00:00:00Z', region: 'us-west-2', calls });

describe('a replayed recording of AWS', () => {
  test('answers each call with that of the most similar request, and equal ones in order', () => {
    const replay = replayOf(
      recorded('DescribeImages', { ImageId: { '1': 'ami-1' } }, 'one'),
      recorded('DescribeImages', { ImageId: { '1': 'ami-2' } }, 'two, first'),
      recorded('DescribeImages', { ImageId: { '1': 'ami-2' } }, 'two, second'),
    );
    const ask = (id: string): unknown => replay.answer(called('DescribeImages', { ImageId: { '1': id } }))?.body;
    expect([ask('ami-2'), ask('ami-1'), ask('ami-2')]).toEqual(['two, first', 'one', 'two, second']);
    expect(replay.left).toEqual({});
  });

  test('repeats the last answer for further calls', () => {
    const replay = replayOf(recorded('DescribeInstances', {}, 'pending'), recorded('DescribeInstances', {}, 'running'));
    const ask = (): unknown => replay.answer(called('DescribeInstances', {}))?.body;
    expect([ask(), ask(), ask()]).toEqual(['pending', 'running', 'running']);
  });

  test('never answers with that of another request', () => {
    const ids = (...given: string[]): object => ({
      ImageId: Object.fromEntries(given.map((id, index) => [String(index + 1), id])),
    });
    const replay = replayOf(
      recorded('DescribeImages', ids('ami-1'), 'one'),
      recorded('DescribeImages', ids('ami-2'), 'two'),
      recorded('DescribeImages', ids('ami-2'), 'two'),
    );
    const ask = (id: string): unknown => replay.answer(called('DescribeImages', { ImageId: { '1': id } }))?.body;
    expect([ask('ami-1'), ask('ami-1'), ask('ami-2')]).toEqual(['one', 'one', 'two']);
  });

  test('continues with the answers of larger requests', () => {
    const replay = replayOf(
      recorded('DescribeInstances', { InstanceId: { '1': 'i-1' } }, 'running'),
      recorded('DescribeInstances', { InstanceId: { '1': 'i-2', '2': 'i-1' } }, 'both are gone'),
    );
    const ask = (id: string): unknown => replay.answer(called('DescribeInstances', { InstanceId: { '1': id } }))?.body;
    expect([ask('i-1'), ask('i-1'), ask('i-1')]).toEqual(['running', 'both are gone', 'both are gone']);
  });

  test("answers no call with a dry run's answer", () => {
    const replay = replayOf(
      recorded('DescribeSubnets', {}, 'subnets'),
      recorded('DescribeSubnets', { DryRun: 'true' }, 'would have succeeded', 412),
    );
    const ask = (params: Record<string, unknown>): unknown => replay.answer(called('DescribeSubnets', params))?.body;
    expect([ask({}), ask({}), ask({ DryRun: 'true' })]).toEqual(['subnets', 'subnets', 'would have succeeded']);
  });

  test('refuses with the recorded error', () => {
    const replay = replayOf(recorded('CreateFleet', {}, 'no', 403));
    expect(replay.answer(called('CreateFleet', {}))).toMatchObject({ status: 403, body: 'no' });
  });

  test('has no catalogue, and reports missing requests as such', () => {
    const replay = replayOf();
    expect(replay.answer(called('DescribeInstanceTypes', {}))).toBeUndefined();
    expect(() => replay.answer(called('CreateFleet', {}))).toThrow('has no ec2 CreateFleet');
  });
});
