import { describe, expect, test } from '@jest/globals';
import { account, attacks, cloudFormation, ec2, json, on, uses, world } from './attacks.js';
import { Authority, everything, filledIn, principalsOf } from './authority.js';
import type { Policy, Statement } from './policy.js';

// Rule `settings/permissions`.
describe.each([
  ['iam-policy.json', () => json],
  ['iam-cloudformation.yaml', cloudFormation],
])('the policy deploy/%s, evaluated by the local cloud', (_file, policy) => {
  const authority = () => new Authority(principalsOf(account, policy()), world);

  test.each(attacks)('denies %s', async (_what, call) => {
    const judge = authority();
    const refused = await judge.admit(call, 'stowage', 'ec2').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'UnauthorizedOperation' });
    expect(judge.denials).toHaveLength(1);
  });

  test('allows what Stowage does, and every statement of it is used', async () => {
    const judge = authority();
    for (const call of uses)
      expect([call.action, await judge.admit(call, 'stowage', 'ec2')]).toEqual([call.action, undefined]);
    const allowed = [policy().Statement].flat().flatMap(({ Action }) => Action);
    const [used] = judge.used.values();
    expect([...used!.keys()].sort()).toEqual([...new Set(allowed)].sort());
  });
});

const statementsOf = ({ Statement }: Policy): readonly Statement[] => [Statement].flat();
const statements = statementsOf(json);
const actionsOf = (policy: Policy): Set<string> => new Set(statementsOf(policy).flatMap(({ Action }) => Action));
const refused = async (policy: Policy): Promise<string[]> => {
  const found: string[] = [];
  for (const [what, call] of attacks) {
    const judge = new Authority(principalsOf(account, policy), world);
    const outcome = await judge.admit(call, 'stowage', 'ec2').catch((error: unknown) => error);
    if (outcome !== undefined) found.push(what);
  }
  return found;
};

describe('the table of attacks on the IAM policy', () => {
  test('has at least forty', () => {
    expect(attacks.length).toBeGreaterThanOrEqual(40);
    expect(new Set(attacks.map(([, call]) => JSON.stringify(call))).size).toBe(attacks.length);
  });

  test('has only valid calls, which an administrator may make', async () => {
    expect(await refused(everything)).toEqual([]);
  });

  test('is denied by conditions of the policy or for actions that it lacks', async () => {
    const unbound: Policy = {
      Statement: { Effect: 'Allow', Action: [...actionsOf(json)], Resource: '*' },
    };
    const strange = attacks.filter(([, { service, action }]) => !actionsOf(json).has(`${service}:${action}`));
    const left = await refused(unbound);
    expect(strange.map(([what]) => what)).toEqual(expect.arrayContaining(left));
    expect(attacks.length - left.length).toBeGreaterThanOrEqual(40);
  });

  /** Statements that ask for the same tags of what a launch makes: each alone would do. */
  const together = new Set(['LaunchTagged', 'MakeTemplatesTagged', 'TagWhatIsMade']);
  /** What a statement need not say: its actions reach nothing else. */
  const idle = new Set([
    ...['LaunchFromOwnTemplates', 'MakeTemplatesTagged', 'TagWhatIsMade', 'RemoveOwn', 'ReadProfiles'].map(
      (sid) => `${sid} resource`,
    ),
    'PassNodeRole iam:PassedToService',
  ]);
  const bonds = statements.flatMap(({ Sid = '', Resource, Condition = {} }) => [
    ...(Resource === '*' ? [] : [[Sid, 'resource'] as const]),
    ...Object.values(Condition).flatMap((keys) => Object.keys(keys).map((key) => [Sid, key] as const)),
  ]);
  const without = (key: string, sids: ReadonlySet<string>): Policy => ({
    Statement: statements.map((statement) => {
      if (!sids.has(statement.Sid ?? '')) return statement;
      if (key === 'resource') return { ...statement, Resource: '*' };
      const blocks = Object.entries(statement.Condition ?? {}).map(([operator, keys]) => [
        operator,
        Object.fromEntries(Object.entries(keys).filter(([other]) => other !== key)),
      ]);
      return { ...statement, Condition: Object.fromEntries(blocks) as NonNullable<Statement['Condition']> };
    }),
  });

  test.each(bonds.filter(([sid, key]) => !idle.has(`${sid} ${key}`)))(
    'has one that succeeds where %s loses its %s',
    async (sid, key) => {
      const sids = together.has(sid) && key.startsWith('aws:RequestTag') ? together : new Set([sid]);
      expect((await refused(without(key, sids))).length).toBeLessThan(attacks.length);
    },
  );

  test('has none for conditions that a statement does not need', async () => {
    for (const bond of idle) {
      const [sid = '', key = ''] = bond.split(' ');
      expect([bond, (await refused(without(key, new Set([sid])))).length]).toEqual([bond, attacks.length]);
    }
  });
});

test('administrators and tests may do everything, strangers nothing', async () => {
  const authority = new Authority(principalsOf(account, json), world);
  expect(await authority.admit(ec2('TerminateInstances', on('i-other')), 'local', 'ec2')).toBeUndefined();
  await expect(authority.admit(ec2('DescribeInstances'), 'stranger', 'ec2')).rejects.toMatchObject({
    code: 'AuthFailure',
  });
});

test('a policy with a variable that has no value is refused', () => {
  expect(() => filledIn('{"a": "${NO_SUCH}"}', {})).toThrow('${NO_SUCH}');
});
