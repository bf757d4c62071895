// Before the tests of workflows: a folder for what their files share.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function makeSharedFolder() {
  process.env.STOWAGE_TEST_FOLDER = mkdtempSync(join(tmpdir(), 'stowage-test-workflows-'));
}
