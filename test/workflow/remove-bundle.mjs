// After the tests of workflows: see bundle-once.mjs.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

export default function removeBundle() {
  const path = process.env.STOWAGE_TEST_WORKFLOWS;
  if (path !== undefined) rmSync(dirname(path), { recursive: true, force: true });
}
