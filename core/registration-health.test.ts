import { describe, expect, test } from '@jest/globals';
import { instanceEnded, registrationHealth, whyFailingPoolRests, withRegistration } from './registration-health.js';

const subject = { poolGeneration: 1, nodeClassGeneration: 3 };

function ringOf(...outcomes: readonly boolean[]): string | undefined {
  return outcomes.reduce<string | undefined>(
    (text, registered, index) => withRegistration(text, subject, { claimUid: `uid-${index}`, registered }) ?? text,
    undefined,
  );
}

describe('NodeRegistrationHealthy (node-pools/registration-health)', () => {
  test.each<[string, readonly boolean[], string]>([
    ['no claim has ended its launch', [], 'Unknown'],
    ['one node registered', [true], 'True'],
    ['one node failed and none registered', [false], 'Unknown'],
    ['two nodes failed', [false, false], 'False'],
    ['two of four nodes failed', [true, false, true, false], 'False'],
    ['one of four nodes failed', [true, false, true, true], 'True'],
    ['two nodes failed and the next three registered', [false, false, true, true, true], 'True'],
  ])('where %s: %j give %s', (_, outcomes, status) => {
    expect(registrationHealth(ringOf(...outcomes), subject).status).toBe(status);
  });

  test('NodeRegistrationHealthy False says what the last failed claim waited for', () => {
    const failure = { registered: false, reason: 'LaunchFailed', message: 'UnauthorizedOperation' };
    const one = withRegistration(undefined, subject, { claimUid: 'a', ...failure });
    const two = withRegistration(one, subject, { claimUid: 'b', ...failure });

    expect(registrationHealth(two, subject)).toMatchObject({
      reason: 'LaunchFailed',
      message: 'UnauthorizedOperation',
    });
  });

  test('NodeRegistrationHealthy is Unknown again for another generation of NodePool or node class', () => {
    const failed = ringOf(false, false);

    expect(registrationHealth(failed, { ...subject, poolGeneration: 2 }).status).toBe('Unknown');
    expect(registrationHealth(failed, { ...subject, nodeClassGeneration: 4 }).status).toBe('Unknown');
    const next = withRegistration(failed, { ...subject, poolGeneration: 2 }, { claimUid: 'x', registered: true });
    expect(registrationHealth(next, { ...subject, poolGeneration: 2 }).status).toBe('True');
  });

  test('the outcome of a claim counts once, and an unchanged condition is not written', () => {
    const once = withRegistration(undefined, subject, { claimUid: 'a', registered: false });

    expect(withRegistration(once, subject, { claimUid: 'a', registered: false })).toBeUndefined();
    expect(
      withRegistration(ringOf(true, true, true, true), subject, { claimUid: 'z', registered: true }),
    ).toBeUndefined();
  });

  test.each(['True', 'False'] as const)('%s left by Karpenter stays until outcomes say otherwise', (status) => {
    const left = { ...subject, said: { status, reason: 'Left', message: 'by Karpenter' } };

    expect(registrationHealth(undefined, left).status).toBe(status);
    const once = withRegistration(undefined, left, { claimUid: 'a', registered: status === 'False' });
    expect(registrationHealth(once, left).status).toBe(status);
    const twice = withRegistration(once, left, { claimUid: 'b', registered: false });
    expect(registrationHealth(twice, left).status).toBe('False');
  });

  test('unreadable outcomes in the annotation count as none', () => {
    for (const text of ['', 'null', '{', '[]', '{"of":"1/3","outcomes":7}']) {
      expect(registrationHealth(text, subject).status).toBe('Unknown');
      expect(withRegistration(text, subject, { claimUid: 'a', registered: true })).toContain('"a"');
    }
  });
});

describe('back-off of a failing NodePool (node-pools/failing-pools-rest)', () => {
  const at = Date.parse('2026-01-02T03:04:05Z');
  const ring = (...outcomes: readonly boolean[]): string | undefined =>
    outcomes.reduce<string | undefined>(
      (text, registered, i) =>
        withRegistration(text, subject, { claimUid: `uid-${i}`, registered, ...(registered ? {} : { at }) }) ?? text,
      undefined,
    );
  const rests = (text: string | undefined, generation: number, now: number): boolean =>
    whyFailingPoolRests(text, generation, now) !== undefined;

  test.each<[string, readonly boolean[], boolean]>([
    ['no claim has ended its launch', [], false],
    ['the first claim got no node', [false], true],
    ['the second claim got no node, the first got one', [true, false], false],
    ['two claims got no node after one that did', [true, false, false], true],
    ['the last claim got a node', [false, false, true], false],
  ])('where %s: registrations %j back off: %s', (_, outcomes, expected) => {
    expect(rests(ring(...outcomes), 1, at + 30_000)).toBe(expected);
  });

  test('a NodePool whose claim got no node backs off for a minute, or until its template changes', () => {
    const failed = ring(false);
    expect(rests(failed, 1, at + 59_000)).toBe(true);
    expect(rests(failed, 1, at + 60_000)).toBe(false);
    expect(rests(failed, 2, at)).toBe(false);
    expect(rests(failed, 11, at)).toBe(false);
  });

  test('an unreadable time or one far in the future causes no back-off', () => {
    expect(rests(ring(false), 1, at - 3_600_000)).toBe(false);
    for (const text of [undefined, '', 'null', '{', '[]', '{"of":"1/3"}', '{"of":"1/3","outcomes":[null,{},7]}']) {
      expect(rests(text, 1, at)).toBe(false);
    }
  });

  test('a NodePool that backs off says why', () => {
    expect(whyFailingPoolRests(ring(false), 1, at)).toBe(
      'backs off until 2026-01-02T03:05:05Z, because its last node did not register',
    );
    const outcome = { claimUid: 'a', registered: false, at, message: 'UnauthorizedOperation' };
    expect(whyFailingPoolRests(withRegistration(undefined, subject, outcome), 1, at)).toBe(
      'backs off until 2026-01-02T03:05:05Z, because its last node was not launched: UnauthorizedOperation',
    );
    const ended = { ...outcome, reason: instanceEnded, message: 'instance i-1 is terminated' };
    expect(whyFailingPoolRests(withRegistration(undefined, subject, ended), 1, at)).toBe(
      'backs off until 2026-01-02T03:05:05Z, because its last node did not register: instance i-1 is terminated',
    );
  });
});
