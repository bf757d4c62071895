import type { Client } from '@temporalio/client';
import { desiredSchedules } from '../desired-workflows.js';
import type { ObservedPause } from './observed.js';

/** The Schedules of the cluster that are paused. One that is missing, or cannot be read, is not told of here: the first is made anew. */
export async function observePaused(client: Client, cluster: string): Promise<ObservedPause[]> {
  const found = await Promise.all(
    desiredSchedules(cluster).map(async ({ scheduleId }): Promise<ObservedPause[]> => {
      try {
        const { state } = await client.schedule.getHandle(scheduleId).describe();
        return state.paused ? [{ scheduleId, note: state.note ?? '' }] : [];
      } catch {
        return [];
      }
    }),
  );
  return found.flat();
}
