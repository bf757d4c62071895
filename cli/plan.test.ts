import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { awsLabels } from '../api/aws/labels.js';
import { labels } from '../api/labels.js';
import { pod } from '../test/cases/objects.js';
import { consolidateOffline } from './consolidate.js';
import { planOffline } from './plan.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));

const example = 'examples/instance-types.json';
const pool = (...requirements: object[]) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements },
    },
  },
});

function given(...items: object[]) {
  const objects = join(folder, 'objects.json');
  writeFileSync(objects, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const warnings: string[] = [];
  const options = {
    objects: [objects],
    catalogue: example,
    output: 'table',
    preferencePolicy: 'Respect',
    minValuesPolicy: 'Strict',
  } as const;
  const warn = (line: string): void => void warnings.push(line);
  return {
    warnings,
    plan: (catalogue: string) => planOffline({ ...options, catalogue, repeat: 1 }, warn),
    consolidate: () => consolidateOffline({ ...options, spotToSpot: false }, warn),
  };
}

describe("stowage plan: AWS's labels that a NodePool or a pod requires", () => {
  const bare = join(folder, 'bare.json');
  const types = JSON.parse(readFileSync(example, 'utf8')) as { labels?: object }[];
  writeFileSync(bare, JSON.stringify(types.map((type) => ({ ...type, labels: undefined }))));
  const advised = (warnings: readonly string[]): string[] =>
    warnings.filter((line) => line.includes('stowage catalogue'));
  const advice = (key: string): string =>
    `${bare} has no label ${key}, which is required: stowage catalogue prints those of a region of AWS`;
  const keys = ['Category', 'Family', 'Generation', 'Size', 'Cpu', 'Memory'] as const;

  test('match types of the example catalogue', () => {
    const category = { key: awsLabels.instanceCategory, operator: 'In', values: ['r'] };
    expect(given(pool(category), pod('p', {}, { cpu: '1' })).plan(example)).toMatch(/1 +default +r7[gi]\.large/);
    const nodeSelector = { [awsLabels.instanceFamily]: 'm7i' };
    expect(given(pool(), pod('p', {}, { cpu: '1' }, { nodeSelector })).plan(example)).toMatch(/1 +default +m7i\.large/);
  });

  test.each(keys)('a catalogue without instance-%s is reported, for NodePools and pods', (name) => {
    const key = awsLabels[`instance${name}`];
    for (const requirement of [
      { key, operator: 'In', values: ['7'] },
      { key, operator: 'Exists' },
    ]) {
      const { plan, warnings } = given(pool(requirement), pod('p', {}, { cpu: '1' }));
      expect(plan(bare)).toContain(`the catalogue has no label ${key}, which the NodePool requires`);
      expect(advised(warnings)).toEqual([advice(key)]);
    }
    const { plan, warnings } = given(pool(), pod('p', {}, { cpu: '1' }, { nodeSelector: { [key]: '7' } }));
    const text = plan(bare);
    expect(text).toContain('No node is launched');
    expect(text).toContain(key);
    expect(advised(warnings)).toEqual([advice(key)]);
  });

  test('stowage catalogue is not suggested where the label may be absent, or exists', () => {
    const gpu = { key: awsLabels.instanceGpuCount, operator: 'DoesNotExist' };
    const family = { key: awsLabels.instanceFamily, operator: 'Exists' };
    const { plan, warnings } = given(pool(gpu, family), pod('p', {}, { cpu: '1' }));
    expect(plan(example)).toContain('1 node for 1 pod');
    expect(advised(warnings)).toEqual([]);

    const ids = join(folder, 'ids.json');
    const requirement = { key: labels.zoneId, operator: 'In', values: ['z1'] };
    const offerings = [{ Price: 1, Requirements: [requirement] }];
    writeFileSync(ids, JSON.stringify([{ ...types[0], offerings }]));
    const inZone = given(pool(requirement), pod('p', {}, { cpu: '1' }));
    inZone.plan(ids);
    expect(advised(inZone.warnings)).toEqual([]);
  });
});

describe('stowage plan: owners of pods (provisioning/owner-kinds)', () => {
  const ofDaemonSet = (apiVersion?: string): object => {
    const made = pod('p', {}, { cpu: '1' });
    const owner = { apiVersion, kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
    return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } };
  };

  test.each([
    ['apps/v1', 'No pod is pending'],
    ['apps/v1beta2', 'No pod is pending'],
    ['apps.kruise.io/v1alpha1', '1 node for 1 pod'],
  ])('a pending pod of a DaemonSet of %s: %s', (apiVersion, expected) => {
    expect(given(pool(), ofDaemonSet(apiVersion)).plan(example)).toContain(expected);
  });

  test('an owner without its API group is refused, by field', () => {
    expect(() => given(pool(), ofDaemonSet()).plan(example)).toThrow(
      'Pod default/p: metadata.ownerReferences[0].apiVersion',
    );
  });
});

describe('stowage consolidate: missing objects are reported', () => {
  const missing = (...items: object[]): string => {
    const { warnings, consolidate } = given(...items);
    consolidate();
    return warnings.join('\n');
  };

  test('PodDisruptionBudgets, and the owners of moved pods', () => {
    const owned = pod('p', {}, {}, { nodeName: 'n' });
    const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', controller: true };
    const withOwner = { ...owned, metadata: { ...owned.metadata, ownerReferences: [controller] } };
    expect(missing(pool(), withOwner)).toMatch(
      /no ReplicaSet among the objects.*\n.*no PodDisruptionBudget among the objects/,
    );
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b', namespace: 'default' },
      spec: {},
    };
    expect(missing(pool(), { ...owned, metadata: { ...owned.metadata, ownerReferences: [] } }, budget)).toBe('');
  });
});
