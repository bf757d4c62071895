import { expect, test } from 'vitest';
import { annotations } from '../api/labels.js';
import { interruptionNoteOf } from './interruption-note.js';

const noteIn = (text: string): unknown =>
  interruptionNoteOf({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', annotations: { [annotations.interruption]: text } },
  });

test('reads what was noted', () => {
  expect(noteIn('{"kind":"spot_interrupted","at":1767225600000,"more":1}')).toEqual({
    kind: 'spot_interrupted',
    at: 1_767_225_600_000,
  });
});

// A kubelet may write any annotation on its own Node; the workflow that is started with the note shows the time.
test.each([
  ['a hint', '{"kind":"rebalance_recommendation","at":1}'],
  ['a time that no date has', '{"kind":"spot_interrupted","at":1e300}'],
  ['no kind', '{"at":1}'],
  ['null', 'null'],
  ['no JSON', '{'],
])('%s is no notice', (_what, text) => {
  expect(noteIn(text)).toBeUndefined();
});
