import { optionalTsToMs } from '@temporalio/common/lib/time.js';

type Duration = Parameters<typeof optionalTsToMs>[0];

/** Milliseconds of a duration on the wire; undefined where there is none, or none is meant by zero. */
export function millisOf(duration: Duration): number | undefined {
  const milliseconds = optionalTsToMs(duration);
  return milliseconds === 0 ? undefined : milliseconds;
}
