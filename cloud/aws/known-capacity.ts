import type { ObservedCapacity } from '../port.js';

/** Of less than this share of what its claim says nothing is learned: whoever writes the Node's status could make a type unusable. */
const leastShare = 0.5;

/** The disk of a node class is the same for all types, so what one node lacks all of them lack. A node may lack this share of it for its file system, not more. */
const leastShareOfDisk = 0.9;
const disk = 'ephemeral-storage';

/** What nodes were seen to have of resources other than memory, where it is less than what their claims say (instance-types/known-memory). */
export class KnownCapacity {
  private readonly known = new Map<string, number>();
  private changes = 0;

  /** Changes whenever the answers of `least` may. */
  get version(): number {
    return this.changes;
  }

  /** What a node of this type, image and node class is known to have of a resource, where the type promises `promised`. */
  least(
    { instanceType, imageId, nodeClassHash }: Pick<ObservedCapacity, 'instanceType' | 'imageId' | 'nodeClassHash'>,
    resource: string,
    promised: number,
  ): number {
    const image = `${imageId}/${nodeClassHash}/${resource}`;
    const least = Math.min(promised, this.known.get(`${instanceType}/${image}`) ?? promised);
    return resource === disk ? this.ofDisk(image, least) : least;
  }

  /** Machines of one type differ a little: the least that was seen is what can be promised. */
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

  /** Claims that were launched since something was learned promise that much, and their nodes may have less again. */
  private ofDisk(image: string, promised: number): number {
    let least = promised;
    for (let next = this.known.get(`${image}/${least}`); next !== undefined; next = this.known.get(`${image}/${least}`))
      least = next;
    return least;
  }
}
