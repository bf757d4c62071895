import { sleep } from '@temporalio/workflow';
import type { CollectedObjects } from '../../activities/garbage-collection/contract.js';
import type { CollectGarbageInput, CollectGarbageResult } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';

/**
 * Pause before the second check. EC2 is eventually consistent and may not list a new instance for some seconds, and the watch
 * cache may lag.
 */
const secondCheckMs = 30_000;

/**
 * Run by a Schedule: terminates instances without a NodeClaim, deletes NodeClaims without an instance, and removes the finalizer
 * of Nodes whose NodeClaim is gone. NodeClaims and Nodes are checked twice before. Also adds tags that could not be added when
 * the node came up.
 */
export async function collectGarbage({ cluster }: CollectGarbageInput): Promise<CollectGarbageResult> {
  const { cloud } = activitiesOf(cluster);
  const progress = new Progress('Collecting garbage', [{ key: searchAttributes.cluster, value: cluster }]);
  const { terminated, failed } = await cloud.collectInstances.executeWithOptions(
    { summary: 'instances without a NodeClaim', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  const lost = await cloud.findLost.executeWithOptions(
    { summary: 'NodeClaims without an instance, Nodes without a NodeClaim', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  const suspects = lost.claims.length + lost.nodes.length;
  let collected: CollectedObjects = { claims: [], nodes: [], failed: [] };
  if (suspects > 0) {
    progress.enter('waiting for the second check', { facts: { suspects } });
    await sleep(secondCheckMs, { summary: 'the second check' });
    collected = await cloud.collectLost.executeWithOptions(
      { summary: `second check of ${suspects}`, scheduleToCloseTimeout: '10 minutes' },
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
