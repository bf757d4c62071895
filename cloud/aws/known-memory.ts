/** Bytes of memory that nodes were seen to have, by type and image; estimates give way to them (instance-types/known-memory). */
export class KnownMemory {
  private readonly bytes = new Map<string, number>();
  private changes = 0;

  /** Changes whenever the answers of `get` may. */
  get version(): number {
    return this.changes;
  }

  get(instanceType: string, imageId: string): number | undefined {
    return this.bytes.get(`${instanceType}/${imageId}`);
  }

  /** Machines of one type differ a little: the least that was seen is what can be promised. */
  learn(instanceType: string, imageId: string, memory: number): void {
    const key = `${instanceType}/${imageId}`;
    if (!(memory > 0) || memory >= (this.bytes.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.bytes.set(key, memory);
    this.changes += 1;
  }
}
