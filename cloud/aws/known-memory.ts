import type { MachineTypes } from './machine-types.js';

const mebi = 2 ** 20;
/** Kernel, hypervisor and crash kernel reserve a few percent; at most a quarter on machines with half a gibibyte. */
const leastShare = 0.5;

/** Observed memory of nodes in bytes, by type and image; replaces estimates (instance-types/known-memory). */
export class KnownMemory {
  private readonly bytes = new Map<string, number>();
  private changes = 0;

  constructor(private readonly machines: { get(): Promise<Pick<MachineTypes, 'infos'>> }) {}

  /** Changes whenever the results of `get` may. */
  get version(): number {
    return this.changes;
  }

  get(instanceType: string, imageId: string): number | undefined {
    return this.bytes.get(`${instanceType}/${imageId}`);
  }

  /**
   * Machines of one type differ a little, so the lowest observation counts. A kubelet may report anything: values that
   * are implausible for the type are ignored, otherwise one node would determine the assumed memory of all others.
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
