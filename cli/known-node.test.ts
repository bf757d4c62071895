import { expect, test } from 'vitest';
import { checkNode } from './known-node.js';

const check = (get: () => Promise<unknown>): Promise<void> =>
  checkNode({}, '__proto__', () => ({ get: get as never, close: () => undefined }));

test('what is ordered for no node is refused; one who may not read nodes, or a cluster that is away, keeps nobody from it', async () => {
  await expect(check(() => Promise.resolve(undefined))).rejects.toThrow('there is no node "__proto__"');
  await expect(check(() => Promise.resolve({ metadata: {} }))).resolves.toBeUndefined();
  await expect(check(() => Promise.reject(new Error('forbidden')))).resolves.toBeUndefined();
});
