import { sleep } from '@temporalio/workflow';
import type { CollectedObjects } from '../../activities/garbage-collection/contract.js';
import type { CollectGarbageInput, CollectGarbageResult } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';

/** EC2 may not see an instance that is there for a few seconds; a cache may lag behind for as long. */
const secondLookMs = 30_000;

/**
 * Run by a Schedule: instances without a claim are terminated, claims without an instance deleted, and Nodes let go whose
 * deletion waits for a claim that is gone. What has lost its instance or its claim is looked at twice. Instances that nobody
 * could tag when their nodes came up are tagged.
 */
export async function collectGarbage({ cluster }: CollectGarbageInput): Promise<CollectGarbageResult> {
  const { cloud } = activitiesOf(cluster);
  const progress = new Progress('Collecting garbage', [{ key: searchAttributes.cluster, value: cluster }]);
  const { terminated, failed } = await cloud.collectInstances.executeWithOptions(
    { summary: 'instances without a claim', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  const lost = await cloud.findLost.executeWithOptions(
    { summary: 'what has lost its instance or its claim?', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  const suspects = lost.claims.length + lost.nodes.length;
  let collected: CollectedObjects = { claims: [], nodes: [], failed: [] };
  if (suspects > 0) {
    progress.enter('waiting for a second look', { facts: { suspects } });
    await sleep(secondLookMs, { summary: 'second look' });
    collected = await cloud.collectLost.executeWithOptions(
      { summary: `${suspects} that seem lost`, scheduleToCloseTimeout: '10 minutes' },
      [lost],
    );
  }
  const untagged = await cloud.tagUntagged.executeWithOptions(
    { summary: 'instances without the name of their node', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  const { claims, nodes } = collected;
  const result = { instances: terminated, claims, nodes, failed: [...failed, ...collected.failed] };
  progress.enter('done', {
    facts: {
      'instances terminated': terminated.length,
      'claims deleted': claims.length,
      'nodes let go': nodes.length,
      ...(untagged.tagged === 0 ? {} : { 'instances tagged': untagged.tagged }),
      ...(untagged.failed === undefined ? {} : { 'not tagged': untagged.failed }),
      ...(result.failed.length === 0 ? {} : { failed: result.failed.map(({ object }) => object).join(', ') }),
    },
  });
  return result;
}
