import { expect, test } from 'vitest';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import { pollInstanceStatus } from './status-poll.js';

/** Polls until `answers` are used up; tells when each call was made and what was told. */
async function poll(answers: readonly (Error | undefined)[]): Promise<{ at: number[]; told: string[] }> {
  const clock = steppingClock();
  const abort = new AbortController();
  const at: number[] = [];
  const told: string[] = [];
  const describeInstanceStatus = (): Promise<never> => {
    const answer = answers[at.length];
    at.push(clock.time);
    if (at.length === answers.length) abort.abort();
    return answer === undefined ? Promise.resolve({ InstanceStatuses: [] } as never) : Promise.reject(answer);
  };
  await pollInstanceStatus(
    { calls: { describeInstanceStatus }, clock, onProblem: (message) => told.push(message) },
    () => Promise.resolve(),
    abort.signal,
  );
  return { at, told };
}

const minutes = (times: readonly number[]): number[] => times.map((time) => time / 60_000);
const denied = refusal('UnauthorizedOperation', 'no', 'ec2:DescribeInstanceStatus', 403);
const expired = refusal('ExpiredToken', 'the token is expired', 'ec2:DescribeInstanceStatus', 403);

test('one expired token ends nothing: the next look is a minute later', async () => {
  const { at, told } = await poll([undefined, expired, undefined, undefined]);
  expect(minutes(at)).toEqual([0, 1, 2, 3]);
  expect(told).toHaveLength(1);
});

test('a call that is denied is tried again ever more seldom, and told once', async () => {
  const { at, told } = await poll([...Array<Error>(8).fill(denied), undefined, undefined]);
  expect(minutes(at)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 184]);
  expect(told).toEqual([expect.stringContaining('ec2:DescribeInstanceStatus')]);
});
