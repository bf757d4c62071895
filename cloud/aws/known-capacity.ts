import type { ObservedCapacity } from '../port.js';

/**
 * Capacity below this share of the claim's is not believed: writing the Node's status could otherwise make a type
 * unusable.
 */
const leastShare = 0.5;

/**
 * The disk size of a node class is the same for all types, so what one node lacks all of them lack. A file system uses
 * at most the rest.
 */
const leastShareOfDisk = 0.9;
const disk = 'ephemeral-storage';

/**
 * Observed node capacity of resources other than memory, where it is below the claim's (instance-types/known-memory).
 */
export class KnownCapacity {
  private readonly known = new Map<string, number>();
  private changes = 0;

  /** Changes whenever the results of `least` may. */
  get version(): number {
    return this.changes;
  }

  /** The known capacity of a resource for this type, image and node class, at most `promised`. */
  least(
    { instanceType, imageId, nodeClassHash }: Pick<ObservedCapacity, 'instanceType' | 'imageId' | 'nodeClassHash'>,
    resource: string,
    promised: number,
  ): number {
    const image = `${imageId}/${nodeClassHash}/${resource}`;
    const least = Math.min(promised, this.known.get(`${instanceType}/${image}`) ?? promised);
    return resource === disk ? this.ofDisk(image, least) : least;
  }

  /** Machines of one type differ a little, so the lowest observation counts. */
  learn({ instanceType, imageId, nodeClassHash, capacity, expected }: ObservedCapacity): void {
    const amounts = new Map(Object.entries(capacity));
    for (const [resource, promised] of Object.entries(expected)) {
      const amount = amounts.get(resource) ?? 0;
      if (resource === 'memory' || amount < promised * leastShare) continue;
      if (amount >= this.least({ instanceType, imageId, nodeClassHash }, resource, promised)) continue;
      const image = `${imageId}/${nodeClassHash}/${resource}`;
      const isOfDisk = resource === disk && amount >= promised * leastShareOfDisk;
      this.known.set(isOfDisk ? `${image}/${promised}` : `${instanceType}/${image}`, amount);
      this.changes += 1;
    }
  }

  /** Claims launched after an observation promise the lower amount, and their nodes may again have less. */
  private ofDisk(image: string, promised: number): number {
    let least = promised;
    for (let next = this.known.get(`${image}/${least}`); next !== undefined; next = this.known.get(`${image}/${least}`))
      least = next;
    return least;
  }
}
