import { expect, test } from '@jest/globals';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { DisruptionPause } from '../../../api/stowage/disruption-pause.js';
import { labels } from '../../../api/labels.js';
import { isDeletedInSpiteOf } from './pause-watch.js';

const deletedAt = '2026-01-05T12:10:00Z';
const claim = {
  metadata: { name: 'claim', deletionTimestamp: deletedAt, labels: { [labels.nodePool]: 'default' } },
  status: { nodeName: 'node', conditions: [{ type: 'DisruptionReason', status: 'True', reason: 'Drifted' }] },
} as unknown as NodeClaim;
const pause = (scope: object, more: object = {}, creationTimestamp = '2026-01-05T12:00:00Z'): DisruptionPause =>
  ({ metadata: { name: 'pause', creationTimestamp }, spec: { scope, ...more } }) as unknown as DisruptionPause;

test.each<[string, DisruptionPause, boolean]>([
  ['of all', pause({ kind: 'Cluster' }), true],
  ['of its NodePool', pause({ kind: 'NodePool', name: 'default' }), true],
  ['of its NodePool for its reason', pause({ kind: 'NodePool', name: 'default', reason: 'Drifted' }), true],
  ['of its NodePool for another reason', pause({ kind: 'NodePool', name: 'default', reason: 'Empty' }), false],
  ['of another NodePool', pause({ kind: 'NodePool', name: 'other' }), false],
  ['of its node', pause({ kind: 'Node', name: 'node' }), true],
  ['of its reason', pause({ kind: 'Reason', name: 'Drifted' }), true],
  ['of another reason', pause({ kind: 'Reason', name: 'Expired' }), false],
  ['that began a moment before', pause({ kind: 'Cluster' }, {}, '2026-01-05T12:09:58Z'), false],
  ['that was over', pause({ kind: 'Cluster' }, { until: '2026-01-05T12:09:00Z' }), false],
])('deletion of a NodeClaim in spite of a pause: %s', (_, each, expected) => {
  expect(isDeletedInSpiteOf(each, claim)).toBe(expected);
});
