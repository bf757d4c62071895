import { isBufferPod } from '../../core/pods.js';
import { withoutUnreadable } from '../../packing/exclude-objects.js';
import { Trial } from '../../packing/trial.js';
import type { PackingInput, Plan } from '../../packing/types.js';
import { placeWaiting } from './fleet-setup.js';
import { fullName } from '../../core/names.js';

/**
 * The nodes on which pods without a node have room now, and these pods, for which no nodes are launched
 * (consolidation/room-of-pending-pods).
 */
export function waitingRooms(input: PackingInput): Plan['existingNodes'] {
  return withoutUnreadable(input, (each) => roomsIn(each)).result;
}

function roomsIn(input: PackingInput): Plan['existingNodes'] {
  const trial = new Trial(input, new Map());
  const rooms = new Map<string, string[]>();
  for (const podClass of trial.queue) {
    if (podClass.pods.some(isBufferPod)) continue;
    for (const { node, pods } of placeWaiting(trial, podClass, podClass.pods)) {
      const there = rooms.get(node.view.name);
      if (there === undefined) rooms.set(node.view.name, pods.map(fullName));
      else there.push(...pods.map(fullName));
    }
    trial.commit();
  }
  return [...rooms].map(([node, pods]) => ({ node, pods }));
}
