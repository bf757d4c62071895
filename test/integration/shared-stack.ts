import { beforeAll } from '@jest/globals';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { withDependencies, type StackPart } from '../../tools/stack/components.js';
import { startStack, type Stack, type StackOptions } from '../../tools/stack/stack.js';

/**
 * The stack of this test run, with at least the given parts: started by the first test file that needs it, shared by
 * all, stopped by the run's global teardown. Call it at the top of a file, and the returned functions inside tests.
 * `cloud()` scripts the cloud proxy. Set STOWAGE_TEST_STACK to a folder to keep one stack over several runs.
 *
 * There are two: files that need the controllers share one, the others share one without other writers.
 * `instanceFamilies`: of all files that share one, or of none. A moto of the run's is used.
 * Files share one cluster and one cloud: give namespaced objects a namespace, and cluster objects a name, of your own.
 */
export function useStack(
  parts: readonly StackPart[],
  { instanceFamilies }: Pick<StackOptions, 'instanceFamilies'> = {},
): { stack: () => Stack; cloud: () => CloudProxyControl } {
  let started: Stack | undefined;
  beforeAll(async () => {
    const base = process.env['STOWAGE_TEST_STACK'] ?? join(tmpdir(), `stowage-test-${process.ppid}`);
    const folder = join(base, withDependencies(parts).includes('controllers') ? 'whole' : 'bare');
    started = await startStack({
      name: 'test',
      folder,
      parts,
      instanceFamilies,
      moto: process.env['STOWAGE_TEST_MOTO'],
    });
    if (started.awsEndpoint !== undefined) await new CloudProxyControl(started.awsEndpoint).reset();
  });
  const stack = (): Stack => {
    if (started === undefined) throw new Error('The stack is there inside tests and hooks alone.');
    return started;
  };
  return { stack, cloud: () => new CloudProxyControl(stack().awsEndpoint!) };
}
