import { describe, expect, test } from '@jest/globals';
import { UserDataSizes } from './user-data-sizes.js';

const nodeClass = (generation: number): Parameters<UserDataSizes['record']>[0] => ({
  metadata: { name: 'default', generation },
});
const reasons = (sizes: UserDataSizes): string[] => sizes.warnings('default').map(({ reason }) => reason);

describe('sizes of user data', () => {
  test('a size past 90% of 16384 bytes is warned of, once', () => {
    const sizes = new UserDataSizes();
    sizes.record(nodeClass(1), 'x'.repeat(14_745));
    expect(sizes.warnings('default')).toEqual([]);
    sizes.record(nodeClass(1), 'x'.repeat(14_746));

    expect(sizes.warnings('default')).toEqual([
      {
        type: 'Warning',
        reason: 'UserDataNearLimit',
        message:
          'User data has 14746 bytes, 90% of the 16384 that EC2 takes: beyond that nothing can be launched from this node class',
      },
    ]);
    expect(sizes.warnings('default')).toEqual([]);
    expect(sizes.bytes).toEqual(new Map([['default', 14_746]]));
  });

  test('the largest of a generation counts, in bytes; a new generation may give a warning again', () => {
    const sizes = new UserDataSizes();
    sizes.record(nodeClass(1), 'ü'.repeat(8000));
    sizes.record(nodeClass(1), 'small');
    expect(sizes.bytes.get('default')).toBe(16_000);
    expect(reasons(sizes)).toEqual(['UserDataNearLimit']);
    sizes.record(nodeClass(2), 'small');
    expect(sizes.bytes.get('default')).toBe(5);
    expect(reasons(sizes)).toEqual([]);
    sizes.record(nodeClass(3), 'x'.repeat(16_000));

    expect(reasons(sizes)).toEqual(['UserDataNearLimit']);
  });

  test('a deleted node class is forgotten', () => {
    const sizes = new UserDataSizes();
    sizes.record(nodeClass(1), 'x'.repeat(16_000));
    sizes.forget('default');

    expect([...sizes.bytes, ...reasons(sizes)]).toEqual([]);
  });
});
