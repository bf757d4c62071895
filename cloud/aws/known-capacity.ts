import type { Resources } from '../../core/resources.js';

/** What a node of a type and image really has, and what its claim said that it would have. */
export interface ObservedCapacity {
  readonly instanceType: string;
  readonly imageId: string;
  /** Hash of the node class as it was at the launch: disks and devices depend on it. */
  readonly nodeClassHash: string;
  readonly capacity: Resources;
  readonly expected: Resources;
}

/** Of less than this share of what EC2 says nothing is learned: whoever writes the Node's status could make a type unusable. */
const leastShare = 0.5;

/** What nodes were seen to have of resources other than memory, where it is less than what EC2 says (instance-types/known-memory). */
export class KnownCapacity {
  private readonly known = new Map<string, Record<string, number>>();
  private changes = 0;

  /** Changes whenever the answers of `get` may. */
  get version(): number {
    return this.changes;
  }

  get(instanceType: string, imageId: string, nodeClassHash: string): Resources | undefined {
    return this.known.get(keyOf({ instanceType, imageId, nodeClassHash }));
  }

  /** Machines of one type differ a little: the least that was seen is what can be promised. */
  learn(observed: ObservedCapacity): void {
    const key = keyOf(observed);
    const before = new Map(Object.entries(this.known.get(key) ?? {}));
    let isNews = false;
    for (const [name, expected] of Object.entries(observed.expected)) {
      const amount = new Map(Object.entries(observed.capacity)).get(name) ?? 0;
      if (name === 'memory' || amount < expected * leastShare) continue;
      if (amount >= Math.min(expected, before.get(name) ?? Infinity)) continue;
      before.set(name, amount);
      isNews = true;
    }
    if (!isNews) return;
    this.known.set(key, Object.fromEntries(before));
    this.changes += 1;
  }
}

const keyOf = ({
  instanceType,
  imageId,
  nodeClassHash,
}: Pick<ObservedCapacity, 'instanceType' | 'imageId' | 'nodeClassHash'>): string =>
  `${instanceType}/${imageId}/${nodeClassHash}`;
