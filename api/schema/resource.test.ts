import { expect, test } from '@jest/globals';
import { nodeClaims } from '../karpenter/node-claim.js';
import { nodePools } from '../karpenter/node-pool.js';
import { ec2NodeClasses } from '../aws/ec2-node-class.js';
import { defaultDisruptionPolicySpec } from '../stowage/disruption-policy.js';
import { build } from '../../test/integration/crd-case-helpers.js';

// Rule `node-pools/spec`.
test("a NodePool gets Karpenter's defaults", () => {
  const { spec } = nodePools.mustParse(build('NodePool'));

  expect(spec.disruption).toEqual({
    consolidateAfter: '0s',
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    budgets: [{ nodes: '10%' }],
  });
  expect(spec.template.spec.expireAfter).toBe('720h');
  expect(spec.weight).toBeUndefined();
});

// Rule `node-classes/spec`.
test("a NodeClaim and an EC2NodeClass get Karpenter's defaults", () => {
  expect(nodeClaims.mustParse(build('NodeClaim')).spec.expireAfter).toBe('720h');
  expect(ec2NodeClasses.mustParse(build('EC2NodeClass')).spec.metadataOptions).toEqual({
    httpEndpoint: 'enabled',
    httpProtocolIPv6: 'disabled',
    httpPutResponseHopLimit: 1,
    httpTokens: 'required',
  });
});

test("a NodePool without a policy gets Karpenter's behaviour, except replace-first expiration", () => {
  expect(defaultDisruptionPolicySpec).toEqual({
    mode: 'Act',
    savings: { minimumPercent: 0, minimumDollarsPerHour: '0' },
    coolDown: '0s',
    expiration: { mode: 'ReplaceFirst', jitter: '0s', lead: '15m' },
    rebalanceRecommendation: 'Ignore',
    repair: { steps: [{ action: 'Force', wait: '10m' }], maximumUnhealthyPercent: 20 },
  });
});

test('parsing a parsed object changes nothing', () => {
  const once = nodePools.mustParse(build('NodePool', { 'spec.limits': { cpu: 10 } }));

  expect(nodePools.mustParse(once)).toEqual(once);
});

test('metadata and status pass through parsing', () => {
  const object = build('NodePool', {
    'metadata.labels': { team: 'red' },
    'metadata.uid': 'u-1',
    status: { nodes: 2, conditions: [] },
  });

  expect(nodePools.mustParse(object)).toMatchObject({
    metadata: { name: 'case', uid: 'u-1', labels: { team: 'red' } },
    status: { nodes: 2, conditions: [] },
  });
});

test('an object of another kind or version is refused', () => {
  const found = nodePools.parse({ ...build('NodePool'), apiVersion: 'karpenter.sh/v1beta1' });

  expect(found.ok ? [] : found.error.map(({ message }) => message)).toEqual([
    'apiVersion: found "karpenter.sh/v1beta1", allowed: one of karpenter.sh/v1',
  ]);
});

test.each([[undefined], [null], ['text'], [[]]])('%j is refused without an exception', (value) => {
  expect(nodePools.parse(value).ok).toBe(false);
});

test('mustParse names the object and each field in its error', () => {
  expect(() => nodePools.mustParse(build('NodePool', { 'spec.weight': 0, 'spec.replicas': -1 }))).toThrow(
    /^NodePool case: spec\.weight: found 0, allowed: at least 1; spec\.replicas: found -1, allowed: at least 0/,
  );
});

test('an update of an object that was never valid is validated on its own', () => {
  expect(nodePools.updateIssues(build('NodePool'), { kind: 'NodePool' })).toEqual([]);
});

test('an error about a map names its entry', () => {
  const labels = { team: 'red', 'karpenter.sh/initialized': 'true' };
  const found = nodePools.parse(build('NodePool', { 'spec.template.metadata.labels': labels }));

  expect(found.ok ? [] : found.error.map(({ path, found: value }) => [path, value])).toEqual([
    ['spec.template.metadata.labels[karpenter.sh/initialized]', 'true'],
  ]);
});
