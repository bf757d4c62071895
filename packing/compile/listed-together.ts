import type { Profile } from './universe.js';

/**
 * Profiles whose types one NodeClaim may list: those of one NodePool and one capacity reservation, or none
 * (reserved-capacity/pinned).
 */
export function listedTogether(profiles: readonly Profile[]): readonly (readonly Profile[])[] {
  const groups = new Map<string, Profile[]>();
  for (const profile of profiles) {
    const key = `${profile.pool.index} ${profile.reservation ?? ''}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [profile]);
    else group.push(profile);
  }
  return [...groups.values()];
}
