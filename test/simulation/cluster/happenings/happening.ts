import type { Random } from '../../../cases/random.js';
import type { Stage } from '../stage.js';

export const minuteMs = 60_000;

/** Something that happens to a cluster, how often beside the others, and what. */
export interface Happening {
  readonly name: string;
  readonly weight: number;
  readonly happens: (stage: Stage) => void;
}

/** Some of what may happen. */
export const listed = (happenings: readonly Happening[]): readonly Happening[] => happenings;

/** One of them, or nothing of nothing. */
export const pickOr = <T>(random: Random, from: readonly T[]): T | undefined =>
  from.length === 0 ? undefined : random.pick(from);
