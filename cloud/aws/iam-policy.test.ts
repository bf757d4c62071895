import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { iamActions, iamPolicy, impliedActions } from './iam-policy.js';
import { cloudFormationYaml, policyJson } from './iam-template.js';

const folder = join(process.cwd(), 'cloud', 'aws');
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
const policy = iamPolicy({
  partition: 'aws',
  region: 'eu-central-1',
  account: '123456789012',
  cluster: 'a-cluster-with-quite-a-long-name',
  nodeRole: 'KarpenterNodeRole-a-cluster-with-quite-a-long-name',
  queue: 'a-cluster-with-quite-a-long-name',
});
const allowed = new Set(policy.Statement.flatMap((statement) => statement.Action));

// Rule `settings/permissions`.
describe('the IAM policy', () => {
  test('allows every action of the table, and no other', () => {
    expect([...allowed].sort()).toEqual(Object.keys(iamActions).sort());
  });

  test('has only actions that are called or implied, and each call names its action', () => {
    const calls = sources.find(({ name }) => name === 'calls.ts')!.text;
    const called = [...calls.matchAll(/call\(\s*'([a-z0-9-]+:[A-Za-z]+)'/g)].map((match) => match[1]!);
    expect([...new Set([...called, ...impliedActions])].sort()).toEqual(Object.keys(iamActions).sort());
    for (const [, action, service, command] of calls.matchAll(
      /call\(\s*'[a-z0-9]+:([A-Za-z]+)'[^;]*?clients\.([a-z0-9]+)\.send\(\s*new ([A-Za-z0-9]+)Command/g,
    )) {
      // Deleting in batches needs the permission to delete.
      expect(`${service!} ${command!.replace('MessageBatch', 'Message')}`).toBe(`${service!} ${action!}`);
    }
  });

  test('no other file can call AWS', () => {
    const others = sources.filter(
      ({ name, text }) => name !== 'calls.ts' && /^import (?!type )[^;]*@aws-sdk\/client-/m.test(text),
    );
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  test("limits changes and deletions to the cluster's tags, and fits into a managed policy", () => {
    const free = policy.Statement.filter((statement) => statement.Resource === '*').flatMap(({ Action }) => Action);
    expect(free.every((action) => /:(Describe|List|Get)/.test(action))).toBe(true);
    const terminate = policy.Statement.filter(({ Action }) => Action.includes('ec2:TerminateInstances'));
    expect(terminate.map(({ Condition }) => Condition?.StringEquals)).toEqual([
      { 'aws:ResourceTag/kubernetes.io/cluster/a-cluster-with-quite-a-long-name': 'owned' },
    ]);
    expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144);
  });

  test("changes only instance profiles below the cluster's path, also for a request with the cluster's tags", () => {
    const changes = policy.Statement.filter(({ Action }) =>
      Action.some((action) => /^iam:(Create|Tag|Add|Remove|Delete)/.test(action)),
    );
    expect(changes.flatMap(({ Action }) => Action)).toHaveLength(5);
    const path = 'karpenter/eu-central-1/a-cluster-with-quite-a-long-name';
    for (const { Resource } of changes) {
      expect(Resource).toBe(`arn:aws:iam::123456789012:instance-profile/${path}/*`);
    }
  });

  test('forbids moving an instance to another cluster by tags', () => {
    const later = policy.Statement.find(({ Sid }) => Sid === 'CompleteTags')!;
    expect(later.Condition).toMatchObject({
      StringEquals: { 'aws:ResourceTag/kubernetes.io/cluster/a-cluster-with-quite-a-long-name': 'owned' },
      StringEqualsIfExists: { 'aws:RequestTag/eks:eks-cluster-name': 'a-cluster-with-quite-a-long-name' },
      'ForAllValues:StringEquals': { 'aws:TagKeys': ['eks:eks-cluster-name', 'karpenter.sh/nodeclaim', 'Name'] },
    });
  });

  test('reads the zonal shifts of one cluster, which has no ARN in that service', () => {
    const { Resource, Condition } = policy.Statement.find(({ Sid }) => Sid === 'ReadZonalShifts')!;
    expect(Resource).toBe('*');
    const arn = 'arn:aws:eks:eu-central-1:123456789012:cluster/a-cluster-with-quite-a-long-name';
    expect(Condition).toEqual({ StringEquals: { 'arc-zonal-shift:ResourceIdentifier': arn } });
  });

  test('only rules of the own account may send to the queue', () => {
    const { Resources } = parse(cloudFormationYaml()) as {
      Resources: { InterruptionQueuePolicy: { Properties: { PolicyDocument: { Statement: object[] } } } };
    };
    const [send] = Resources.InterruptionQueuePolicy.Properties.PolicyDocument.Statement;
    expect(send).toMatchObject({
      Principal: { Service: 'events.amazonaws.com' },
      Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
    });
  });

  test('the policies in deploy/ are those that npm run generate writes', () => {
    expect(readFileSync('deploy/iam-policy.json', 'utf8')).toBe(policyJson());
    expect(readFileSync('deploy/iam-cloudformation.yaml', 'utf8')).toBe(cloudFormationYaml());
  });
});
