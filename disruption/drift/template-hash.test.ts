import { describe, expect, test } from '@jest/globals';
import { nodePools } from '../../api/karpenter/node-pool.js';
import { build, type Patch } from '../../test/integration/crd-case-helpers.js';
import { nodePoolHash } from './template-hash.js';

const spec = 'spec.template.spec';
const poolHash = (patch: Patch): string => nodePoolHash(nodePools.mustParse(build('NodePool', patch)).spec.template);

const taints = [
  { key: 'a', effect: 'NoSchedule' },
  { key: 'b', value: 'x', effect: 'NoSchedule' },
];

// Rule `node-pools/template-hash`.
describe('nodePoolHash', () => {
  test.each<[string, Patch]>([
    ['labels', { 'spec.template.metadata.labels': { team: 'red' } }],
    ['a label with no value', { 'spec.template.metadata.labels': { team: '' } }],
    ['annotations', { 'spec.template.metadata.annotations': { note: 'x' } }],
    ['taints', { [`${spec}.taints`]: taints }],
    ['startupTaints', { [`${spec}.startupTaints`]: taints }],
    ['nodeClassRef', { [`${spec}.nodeClassRef.name`]: 'other' }],
    ['terminationGracePeriod', { [`${spec}.terminationGracePeriod`]: '1h' }],
    ['expireAfter', { [`${spec}.expireAfter`]: '1h' }],
    ['expireAfter Never', { [`${spec}.expireAfter`]: 'Never' }],
  ])('changes with %s', (_what, patch) => {
    expect(poolHash(patch)).not.toBe(poolHash({}));
  });

  test.each<[string, Patch]>([
    ['requirements', { [`${spec}.requirements`]: [] }],
    ['disruption', { 'spec.disruption.consolidateAfter': '1h' }],
    ['limits and weight', { 'spec.limits': { cpu: '1' }, 'spec.weight': 10 }],
    ['empty lists and maps', { [`${spec}.taints`]: [], 'spec.template.metadata': { labels: {} } }],
    ['the default written out', { [`${spec}.expireAfter`]: '720h' }],
    ['another way to write a duration', { [`${spec}.expireAfter`]: '43200m' }],
  ])('does not change with %s', (_what, patch) => {
    expect(poolHash(patch)).toBe(poolHash({}));
  });

  test('ignores the order of lists and maps', () => {
    expect(poolHash({ [`${spec}.taints`]: taints })).toBe(poolHash({ [`${spec}.taints`]: taints.toReversed() }));
    expect(poolHash({ 'spec.template.metadata.labels': { a: '1', b: '2' } })).toBe(
      poolHash({ 'spec.template.metadata.labels': { b: '2', a: '1' } }),
    );
    expect(poolHash({ [`${spec}.taints`]: taints })).not.toBe(poolHash({ [`${spec}.startupTaints`]: taints }));
  });

  test('is the same in each release', () => {
    expect(poolHash({ [`${spec}.taints`]: taints, 'spec.template.metadata.labels': { team: 'red' } })).toBe(
      '678ebaca65490f6d',
    );
  });
});
