import { describe, expect, test } from 'vitest';
import { registrationHealth, withRegistration } from './registration-health.js';

const subject = { poolGeneration: 1, nodeClassGeneration: 3 };

function ringOf(...outcomes: readonly boolean[]): string | undefined {
  return outcomes.reduce<string | undefined>(
    (text, registered, index) => withRegistration(text, subject, { claimUid: `uid-${index}`, registered }) ?? text,
    undefined,
  );
}

describe('NodeRegistrationHealthy (node-pools/registration-health)', () => {
  test.each<[string, readonly boolean[], string]>([
    ['nothing happened', [], 'Unknown'],
    ['one node registered', [true], 'True'],
    ['one failed and none registered', [false], 'Unknown'],
    ['two failed', [false, false], 'False'],
    ['two of four failed', [true, false, true, false], 'False'],
    ['one of four failed', [true, false, true, true], 'True'],
    ['failures that four later nodes outlived', [false, false, true, true, true], 'True'],
  ])('%s', (_, outcomes, status) => {
    expect(registrationHealth(ringOf(...outcomes), subject).status).toBe(status);
  });

  test('says what the last failed claim hung on', () => {
    const failure = { registered: false, reason: 'LaunchFailed', message: 'UnauthorizedOperation' };
    const one = withRegistration(undefined, subject, { claimUid: 'a', ...failure });
    const two = withRegistration(one, subject, { claimUid: 'b', ...failure });

    expect(registrationHealth(two, subject)).toMatchObject({
      reason: 'LaunchFailed',
      message: 'UnauthorizedOperation',
    });
  });

  test('another template or node class begins anew', () => {
    const failed = ringOf(false, false);

    expect(registrationHealth(failed, { ...subject, poolGeneration: 2 }).status).toBe('Unknown');
    expect(registrationHealth(failed, { ...subject, nodeClassGeneration: 4 }).status).toBe('Unknown');
    const next = withRegistration(failed, { ...subject, poolGeneration: 2 }, { claimUid: 'x', registered: true });
    expect(registrationHealth(next, { ...subject, poolGeneration: 2 }).status).toBe('True');
  });

  test('a claim counts once, and what changes nothing is not written', () => {
    const once = withRegistration(undefined, subject, { claimUid: 'a', registered: false });

    expect(withRegistration(once, subject, { claimUid: 'a', registered: false })).toBeUndefined();
    expect(
      withRegistration(ringOf(true, true, true, true), subject, { claimUid: 'z', registered: true }),
    ).toBeUndefined();
  });

  test.each(['True', 'False'] as const)('%s that Karpenter left stands until outcomes say otherwise', (status) => {
    const left = { ...subject, said: { status, reason: 'Left', message: 'by Karpenter' } };

    expect(registrationHealth(undefined, left).status).toBe(status);
    const once = withRegistration(undefined, left, { claimUid: 'a', registered: status === 'False' });
    expect(registrationHealth(once, left).status).toBe(status);
    const twice = withRegistration(once, left, { claimUid: 'b', registered: false });
    expect(registrationHealth(twice, left).status).toBe('False');
  });

  test('what somebody wrote over counts as nothing', () => {
    for (const text of ['', 'null', '{', '[]', '{"of":"1/3","outcomes":7}']) {
      expect(registrationHealth(text, subject).status).toBe('Unknown');
      expect(withRegistration(text, subject, { claimUid: 'a', registered: true })).toContain('"a"');
    }
  });
});
