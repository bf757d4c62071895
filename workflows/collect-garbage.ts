import type { CollectGarbageInput, CollectGarbageResult } from './messages.js';
import { searchAttributes } from './messages.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';

/** Run by a Schedule (section 3.7): instances without a claim are terminated, claims without an instance deleted. */
export async function collectGarbage({ cluster }: CollectGarbageInput): Promise<CollectGarbageResult> {
  const { cloud } = activitiesOf(cluster);
  const progress = new Progress('Collecting garbage', [{ key: searchAttributes.cluster, value: cluster }]);
  const { terminated } = await cloud.collectInstances.executeWithOptions(
    { summary: 'instances without a claim', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  const { deleted } = await cloud.collectClaims.executeWithOptions(
    { summary: 'claims without an instance', scheduleToCloseTimeout: '10 minutes' },
    [],
  );
  progress.enter('done', { facts: { 'instances terminated': terminated.length, 'claims deleted': deleted.length } });
  return { instances: terminated, claims: deleted };
}
