import type { PodExplanation } from '../../activities/people/contract.js';
import type { ExplainPodInput } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';

/**
 * Started by `stowage why`: plans as `provision` would, without acting on the plan, and returns the result for one pod.
 */
export async function explainPod({ cluster, namespace, name }: ExplainPodInput): Promise<PodExplanation> {
  const { packing } = activitiesOf(cluster);
  const progress = new Progress(`Why is pod ${namespace}/${name} where it is?`, [
    { key: searchAttributes.cluster, value: cluster },
  ]);
  const found = await packing.explainPod.executeWithOptions({ scheduleToCloseTimeout: '2 minutes' }, [
    { namespace, name },
  ]);
  progress.enter('done', { facts: { answer: found.why } });
  return found;
}
