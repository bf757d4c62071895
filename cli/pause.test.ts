import { expect, test } from '@jest/globals';
import { checkNode } from './pause.js';

const check = (get: () => Promise<unknown>): Promise<void> =>
  checkNode({}, '__proto__', () => ({ get: get as never, close: () => undefined }));

test('an order for an unknown node is refused; without permission or an answer of the cluster it is sent', async () => {
  await expect(check(() => Promise.resolve(undefined))).rejects.toThrow('there is no node "__proto__"');
  await expect(check(() => Promise.resolve({ metadata: {} }))).resolves.toBeUndefined();
  await expect(check(() => Promise.reject(new Error('forbidden')))).resolves.toBeUndefined();
});
