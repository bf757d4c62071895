// Around the tests of workflows: a folder for what their files share.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function makeSharedFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-test-workflows-'));
  process.env.STOWAGE_TEST_FOLDER = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
