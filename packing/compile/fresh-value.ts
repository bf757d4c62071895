import { accepts, type Requirement } from '../requirements/requirement.js';

/**
 * The smallest integer that satisfies the requirement and is not in `taken`. If there is none: a taken value that does,
 * or undefined if the label may be missing.
 */
export function freshValue(requirement: Requirement, taken: ReadonlySet<string>): string | undefined {
  const from = requirement.gte ?? 0n;
  const last = requirement.lte ?? from + BigInt(requirement.values.length + taken.size);
  for (let n = from; n <= last; n++) {
    const value = String(n);
    if (!taken.has(value) && accepts(requirement, value)) return value;
  }
  for (const value of [...taken].sort()) if (accepts(requirement, value)) return value;
  return requirement.absent ? undefined : String(from);
}
