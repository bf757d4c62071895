import { someOfMember, type Member, type Part } from './part.js';

/** A node to be launched, in terms of rows and classes. */
export interface OpenClaim {
  /** The cheapest row with room for its pods. */
  readonly row: number;
  readonly members: readonly Member[];
  /** Topology keys that need one fixed value on the node. */
  readonly pinnedKeys: ReadonlySet<string>;
  /** The capacity type, if a spot ratio decided it. */
  readonly capacityType?: string;
}

/** A node to buy: a row of the universe, and how many units of each part it holds. */
export interface BoughtBin {
  readonly row: number;
  readonly items: ArrayLike<number>;
  readonly units: ArrayLike<number>;
}

/** The claims for the bins. They get the pods of each part in order. `given`: how many units of each part they hold. */
export function openClaimsOf(
  parts: readonly Part[],
  bins: readonly BoughtBin[],
): { readonly claims: OpenClaim[]; readonly given: Int32Array } {
  const given = new Int32Array(parts.length);
  const claims = bins.map(({ row, items, units }) => {
    const members: Member[] = [];
    const pinnedKeys = new Set<string>();
    for (let k = 0; k < items.length; k++) {
      const item = items[k]!;
      const part = parts[item]!;
      const from = given[item]!;
      given[item] = from + units[k]!;
      for (const key of part.pinnedKeys) pinnedKeys.add(key);
      for (const member of part.members) members.push(part.together ? member : someOfMember(member, from, given[item]));
    }
    return { row, members, pinnedKeys };
  });
  return { claims, given };
}
