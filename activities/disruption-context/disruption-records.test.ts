import { expect, test } from '@jest/globals';
import { annotations } from '../../api/labels.js';
import { nodePool } from '../../test/builders/activity-world.js';
import { recordsText, type PoolRecords } from '../../cluster/pool-records.js';
import { disruptionRecords } from './disruption-records.js';

const at = Date.parse('2026-01-05T12:00:00Z');
const nothing: PoolRecords = { disrupting: [], past: [], refused: [] };

function read(annotation: string): {
  readonly warned: unknown[];
  readonly records: ReturnType<typeof disruptionRecords>;
} {
  const warned: unknown[] = [];
  const log = { warn: (what: { why: string }) => void warned.push(what.why) } as never;
  const pool = nodePool('default');
  const own = { ...pool, metadata: { ...pool.metadata, annotations: { [annotations.disruptionRecords]: annotation } } };
  return { warned, records: disruptionRecords({ log, now: () => at }, [own], []) };
}

// Rule `budgets/records`.
test.each([
  ['no JSON', 'zzz', /^it is not valid JSON/],
  ['no list', '{"past":7}', /^past is no list$/],
  ['a malformed entry', '{"past":[{"at":"now"}]}', /^past\[0\]\.reason is missing/],
  ['a key of every object', '{"__proto__":{"past":[1]}}', undefined],
])('records that cannot be read are ignored and logged: %s', (_name, annotation, why) => {
  const { warned, records } = read(annotation);

  expect(records).toEqual({ running: [], questions: [], waiting: new Set(), past: [], refused: [] });
  expect(warned).toEqual(why === undefined ? [] : [expect.stringMatching(why)]);
});

test('past disruptions count, and refusals until they end', () => {
  const refused = { reason: 'Empty', nodes: [], saves: 0, why: 'no', at: 1, until: at + 1 } as const;
  const over = { ...refused, until: at };
  const { records } = read(JSON.stringify({ past: [{ reason: 'Empty', at: 5, nodes: 2 }], refused: [refused, over] }));

  expect(records.past).toEqual([{ nodePool: 'default', reason: 'Empty', at: 5, nodes: 2 }]);
  expect(records.refused).toEqual([refused]);
});

test('the annotation of records is limited in size: the latest rejections are kept, and disruptions are never dropped', () => {
  const refusal = (n: number) =>
    ({ reason: 'Empty', nodes: [], saves: 0, why: `${n} ${'x'.repeat(900)}`, at: n, until: at }) as const;
  const text = recordsText({ ...nothing, refused: Array.from({ length: 200 }, (_, n) => refusal(n)) })!;
  expect(text.length).toBeLessThan(50 * 1024);
  expect(text).toContain('"at":199');

  const one = { uid: 'u'.repeat(36), owner: 'o'.repeat(60), reason: 'Empty', at } as const;
  expect(typeof recordsText({ ...nothing, disrupting: Array.from({ length: 1000 }, () => one) })).toBe('string');
  expect(recordsText({ ...nothing, disrupting: Array.from({ length: 2000 }, () => one) })).toBeUndefined();
  expect(recordsText(nothing)).toBeNull();
});
