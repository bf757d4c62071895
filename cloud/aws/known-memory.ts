import type { MachineTypes } from './machine-types.js';

const mebi = 2 ** 20;
/** Kernel, hypervisor and crash kernel keep a few per cent; of machines with half a gibibyte a quarter at most. */
const leastShare = 0.5;

/** Bytes of memory that nodes were seen to have, by type and image; estimates give way to them (instance-types/known-memory). */
export class KnownMemory {
  private readonly bytes = new Map<string, number>();
  private changes = 0;

  constructor(private readonly machines: { get(): Promise<Pick<MachineTypes, 'infos'>> }) {}

  /** Changes whenever the answers of `get` may. */
  get version(): number {
    return this.changes;
  }

  get(instanceType: string, imageId: string): number | undefined {
    return this.bytes.get(`${instanceType}/${imageId}`);
  }

  /**
   * Machines of one type differ a little: the least that was seen is what can be promised. A kubelet may say anything: what EC2's figure for the
   * type makes implausible is not believed, or one node would decide what every other of its type is taken to hold.
   */
  async learn(instanceType: string, imageId: string, memory: number): Promise<void> {
    const key = `${instanceType}/${imageId}`;
    const isNews = (): boolean => memory < (this.bytes.get(key) ?? Number.POSITIVE_INFINITY);
    if (!isNews()) return;
    const { infos } = await this.machines.get();
    const info = infos.find(({ InstanceType: name }) => name === instanceType);
    const has = (info?.MemoryInfo?.SizeInMiB ?? 0) * mebi;
    if (!isNews() || memory > has || memory < leastShare * has) return;
    this.bytes.set(key, memory);
    this.changes += 1;
  }
}
