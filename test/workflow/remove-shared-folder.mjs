// After the tests of workflows: see shared-folder.mjs.
import { rmSync } from 'node:fs';

export default function removeSharedFolder() {
  const folder = process.env.STOWAGE_TEST_FOLDER;
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
