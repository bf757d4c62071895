import { beforeAll, expect, test } from 'vitest';
import type { Toolchain } from '../../devstack/toolchain.js';
import { ensureToolchain } from '../../devstack/toolchain.js';
import { kubectl, temporal } from '../../scripts/docs/programs/tables.js';
import { unknownIn } from '../documented-programs.js';

// `scripts/docs.test.ts` checks calls on pages by tables; here these are held against the programs.
let tools: Partial<Toolchain>;
beforeAll(async () => {
  tools = await ensureToolchain(['kubernetes', 'temporal']);
});

test('kubectl has the commands and flags that pages use', async () => {
  expect(await unknownIn(tools.kubectl ?? '', kubectl, ['options'])).toEqual([]);
});

test('temporal has the commands and flags that pages use', async () => {
  expect(await unknownIn(tools.temporal ?? '', temporal, ['--help'])).toEqual([]);
});
