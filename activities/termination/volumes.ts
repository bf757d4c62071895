import type { Condition } from '../../api/kubernetes.js';
import type { ConditionChange } from '../../core/conditions.js';
import { isDrainable } from '../../core/pods.js';
import { volumeClaimName } from '../../core/names.js';
import type { DrainInput, DrainProgress } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { volumeBlockers } from './drain-blockers.js';
import { instanceIsGone } from './instance-watch.js';
import { ensureMarked, nodesOfDrain } from './mark-nodes.js';
import { reportConditions } from '../claim-status.js';
import { regarding } from '../../core/events.js';
import { counted } from '../../core/text.js';

/**
 * One pass (termination/volumes): volumes of pods that were drained must let go; past the deadline nobody waits, and a node whose
 * instance is gone has nothing attached, whatever is written.
 */
export async function awaitVolumes(deps: ActivityDeps, input: DrainInput): Promise<DrainProgress> {
  const { claim, deadline, known, nodeName } = input;
  const done = { state: 'done', blockedBy: [], remaining: 0, evicted: 0 } as const;
  await ensureMarked(deps, input);
  const attached = attachedVolumes(deps, nodesOfDrain(deps, input));
  if (attached.length === 0) {
    await reportConditions(deps, claim, [{ type: 'VolumesDetached', status: 'True' }]);
    return done;
  }
  const blockers = volumeBlockers(attached);
  const message = `waiting for ${counted(attached.length, 'volume')}: ${attached.slice(0, blockers.length).join(', ')}`;
  if (deadline !== undefined && deps.now() >= deadline) {
    await reportConditions(deps, claim, [volumes('False', 'TerminationGracePeriodElapsed', message)]);
    return done;
  }
  if (await instanceIsGone(deps, nodeName)) return { ...done, instanceGone: true };
  const blockedBy = blockers.map(({ name }) => name);
  const due = deadline === undefined ? {} : { dueAt: deadline };
  const left = { blockedBy, remaining: attached.length, evicted: 0, blockers, ...due };
  if (blockedBy.join() === known.join()) return { ...left, state: 'waiting' };
  await reportConditions(deps, claim, [volumes('Unknown', 'AwaitingVolumeDetachment', message)]);
  publish(deps, nodeName, message);
  return { ...left, state: 'blocked' };
}

function publish(deps: ActivityDeps, nodeName: string, message: string): void {
  deps.events.publish({
    regarding: regarding('Node', { name: nodeName }),
    type: 'Normal',
    reason: 'AwaitingVolumeDetachment',
    message: `Awaiting deletion of bound volumeattachments: ${message}`,
    dedupeBy: [nodeName],
  });
}

function volumes(status: Condition['status'], reason: string, message: string): ConditionChange {
  return { type: 'VolumesDetached', status, reason, message };
}

function attachedVolumes(deps: ActivityDeps, nodes: readonly string[]): readonly string[] {
  const staying = new Set<string>();
  for (const pod of nodes.flatMap((name) => deps.cache.podsOnNode(name))) {
    if (isDrainable(pod, deps.now())) continue;
    const namespace = pod.metadata.namespace ?? 'default';
    for (const podVolume of pod.spec.volumes ?? []) {
      const name = volumeClaimName(pod, podVolume);
      if (name === undefined) continue;
      const volume = deps.cache.get('PersistentVolumeClaim', { name, namespace })?.spec.volumeName;
      if (volume !== undefined) staying.add(volume);
    }
  }
  return deps.cache
    .all('VolumeAttachment')
    .filter(({ spec }) => nodes.includes(spec.nodeName))
    .map(({ spec }) => spec.source.persistentVolumeName)
    .filter((name) => name !== undefined)
    .filter((name) => !staying.has(name))
    .sort();
}
