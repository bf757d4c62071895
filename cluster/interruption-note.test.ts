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
  ['a hint', '{"kind":"rebalance_recommendation","at":1}'],
  ['what a status check says again in a minute', '{"kind":"instance_status","at":1}'],
  ['a kind that no cloud has', '{"kind":"mine","at":1}'],
  ['a time that no date has', '{"kind":"spot_interrupted","at":1e300}'],
  ['no kind', '{"at":1}'],
  ['null', 'null'],
  ['no JSON', '{'],
])('%s is no interruption annotation', (_what, text) => {
  expect(noteIn(text)).toBeUndefined();
});
