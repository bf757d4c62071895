import type { ObservedCapacity } from '../port.js';

/**
 * Capacity below this share of what was expected is not believed: writing the Node's status could otherwise make a type
 * unusable. Kernel, hypervisor and crash kernel use at most a quarter of the memory of the smallest machines.
 */
const leastShare = 0.5;

/**
 * The disk size of a node class is the same for all types, so what one node lacks all of them lack. A file system uses
 * at most the rest.
 */
const leastShareOfDisk = 0.9;
const disk = 'ephemeral-storage';

type NodeKind = Pick<ObservedCapacity, 'instanceType' | 'imageId' | 'nodeClassHash'>;

/**
 * Observed capacity of nodes, where it is below what was expected: for memory what EC2 says of the type, for any other
 * resource what the claim says (instance-types/known-memory).
 */
export class KnownCapacity {
  private readonly known = new Map<string, number>();
  private changes = 0;

  /** Changes whenever the results of `least` may. */
  get version(): number {
    return this.changes;
  }

  /** The known capacity of a resource for this type, image and node class, at most `promised`. */
  least(kind: NodeKind, resource: string, promised: number): number {
    const least = Math.min(promised, this.known.get(keyOf(kind, resource)) ?? promised);
    return resource === disk ? this.ofDisk(kind, least) : least;
  }

  /** Machines of one type differ a little, so the lowest observation counts. `memory`: of the machine by EC2. */
  learn({ capacity, expected, ...kind }: ObservedCapacity, memory: number): void {
    const amounts = new Map(Object.entries(capacity));
    for (const [resource, promised] of Object.entries({ ...expected, memory })) {
      const amount = amounts.get(resource) ?? 0;
      const isPlausible = amount > 0 && amount >= promised * leastShare;
      if (!isPlausible || amount >= this.least(kind, resource, promised)) continue;
      const isOfDisk = resource === disk && amount >= promised * leastShareOfDisk;
      this.known.set(isOfDisk ? diskKey(kind, promised) : keyOf(kind, resource), amount);
      this.changes += 1;
    }
  }

  /** Claims launched after an observation promise the lower amount, and their nodes may again have less. */
  private ofDisk(kind: NodeKind, promised: number): number {
    let least = promised;
    for (
      let next = this.known.get(diskKey(kind, least));
      next !== undefined;
      next = this.known.get(diskKey(kind, least))
    )
      least = next;
    return least;
  }
}

/** Memory does not depend on the node class. */
function keyOf({ instanceType, imageId, nodeClassHash }: NodeKind, resource: string): string {
  return `${instanceType}/${imageId}/${resource === 'memory' ? '' : nodeClassHash}/${resource}`;
}

const diskKey = ({ imageId, nodeClassHash }: NodeKind, promised: number): string =>
  `${imageId}/${nodeClassHash}/${promised}`;
