// Names the folder of the stack that this run's test files share; workers inherit the variable.
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function setup() {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  if (process.env.STOWAGE_TEST_STACK !== undefined) return;
  process.env.STOWAGE_TEST_STACK = join(tmpdir(), `stowage-test-${process.pid}`);
  process.env.STOWAGE_TEST_STACK_OWNED = 'true';
}
