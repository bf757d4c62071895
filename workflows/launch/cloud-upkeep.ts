import { searchAttributes } from '../messages.js';
import type { CloudUpkeepInput } from '../messages.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';

/** Run by a Schedule: reads instance types and prices again (instance-types/catalogue-age). */
export async function refreshCatalogue({ cluster }: CloudUpkeepInput): Promise<void> {
  const { cloud } = activitiesOf(cluster);
  const progress = new Progress('Reading instance types and prices', [
    { key: searchAttributes.cluster, value: cluster },
  ]);
  await cloud.refreshCatalogue.executeWithOptions(
    { summary: 'instance types and prices', scheduleToCloseTimeout: '1 hour' },
    [],
  );
  progress.enter('done');
}

/**
 * Run by a Schedule: deletes launch templates and instance profiles that nothing uses (launch-templates/unused-are-deleted,
 * node-classes/instance-profiles).
 */
export async function sweepCloud({ cluster }: CloudUpkeepInput): Promise<void> {
  const { cloud } = activitiesOf(cluster);
  const progress = new Progress('Deleting unused launch templates and instance profiles', [
    { key: searchAttributes.cluster, value: cluster },
  ]);
  await cloud.sweepCloud.executeWithOptions(
    { summary: 'unused launch templates and instance profiles', scheduleToCloseTimeout: '20 minutes' },
    [],
  );
  progress.enter('done');
}
