import { expect, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import { nodeClaims } from '../api/karpenter/node-claim.js';
import { interruptionNoteOf } from './interruption-note.js';

const noteIn = (text: string): unknown =>
  interruptionNoteOf(
    nodeClaims.mustParse({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'n', annotations: { [annotations.interruption]: text } },
      spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    }),
  );

test('an interruption annotation of a NodeClaim is read back as written', () => {
  expect(noteIn('{"kind":"spot_interrupted","at":1767225600000,"more":1}')).toEqual({
    kind: 'spot_interrupted',
    at: 1_767_225_600_000,
  });
});

test.each([
  ['a rebalance recommendation', '{"kind":"rebalance_recommendation","at":1}'],
  ['an instance status, which is polled again in a minute', '{"kind":"instance_status","at":1}'],
  ['an unknown kind', '{"kind":"mine","at":1}'],
  ['a time out of range', '{"kind":"spot_interrupted","at":1e300}'],
  ['an annotation without a kind', '{"at":1}'],
  ['null', 'null'],
  ['invalid JSON', '{'],
])('%s is no interruption annotation', (_what, text) => {
  expect(noteIn(text)).toBeUndefined();
});
