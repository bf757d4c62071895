import { expect, test } from '@jest/globals';
import { holds } from './conditions.js';
import { decide } from './policy.js';
import type { Statement } from './policy.js';

const allow = { Effect: 'Allow', Action: 'ec2:*', Resource: '*' } as const;
const demand = {
  action: 'ec2:RunInstances',
  resource: 'arn:aws:ec2:r:a:instance/i-1',
  context: { 'aws:RequestTag/team': 'blue' },
};
const verdict = (...Statement: Statement[]): boolean => decide([{ Statement }], demand).allowed;

test.each<[string, boolean, Statement[]]>([
  ['no statement', false, []],
  ['a statement with a wildcard', true, [allow]],
  ['an Allow and a Deny, which wins', false, [allow, { ...allow, Effect: 'Deny', Action: ['ec2:run*'] }]],
  ['a statement of another action', false, [{ ...allow, Action: 'ec2:Describe*' }]],
  ['a statement of another resource', false, [{ ...allow, Resource: 'arn:aws:ec2:r:a:volume/*' }]],
  ['a resource with a dot, which matches only a dot', false, [{ ...allow, Resource: 'arn:aws:ec2:r:a:instance/i.1' }]],
  ['a resource with ?, which matches any character', true, [{ ...allow, Resource: 'arn:aws:ec2:r:a:instance/i?1' }]],
  ['a condition that holds', true, [{ ...allow, Condition: { StringLike: { 'AWS:requesttag/team': ['red', 'b*'] } } }]],
  [
    'two conditions of which one does not hold',
    false,
    [{ ...allow, Condition: { StringEquals: { 'aws:RequestTag/team': 'blue', 'aws:RequestTag/x': 'y' } } }],
  ],
])('IAM policy with %s allows the call: %s', (_what, allowed, statements) =>
  expect(verdict(...statements)).toBe(allowed),
);

const keys = { 'aws:TagKeys': ['Name', 'team'] };
test.each<[string, string, string[], boolean]>([
  ['ForAllValues:StringEquals', 'aws:TagKeys', ['Name'], false],
  ['ForAllValues:StringEquals', 'aws:TagKeys', ['Name', 'team', 'x'], true],
  ['ForAllValues:StringEquals', 'absent', ['Name'], true],
  ['ForAnyValue:StringEquals', 'aws:TagKeys', ['Name'], true],
  ['ForAnyValue:StringEquals', 'absent', ['Name'], false],
  ['StringEqualsIfExists', 'absent', ['x'], true],
  ['StringEquals', 'absent', ['x'], false],
  ['StringNotEquals', 'absent', ['x'], true],
  ['StringNotEquals', 'aws:TagKeys', ['Name'], false],
  ['Null', 'absent', ['true'], true],
  ['Null', 'aws:TagKeys', ['true'], false],
])('IAM condition: %s of %s and %j is %s', (operator, key, wanted, expected) => {
  expect(holds(operator, key, wanted, keys)).toBe(expected);
});

test('a condition operator that is not supported is an error', () => {
  expect(() => holds('DateLessThan', 'aws:TagKeys', ['x'], keys)).toThrow('DateLessThan');
});
