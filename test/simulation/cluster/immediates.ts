/** What the process has left for the next turn of the event loop by `setImmediate`: callbacks that are still to be called. */
export class Immediates {
  private readonly waiting = new Set<NodeJS.Immediate>();
  private readonly machines = { setImmediate: globalThis.setImmediate, clearImmediate: globalThis.clearImmediate };

  /** Counts from now on. */
  constructor() {
    const { machines, waiting } = this;
    const counted = (then: (...args: unknown[]) => void, ...args: unknown[]): NodeJS.Immediate => {
      const immediate = machines.setImmediate(() => {
        waiting.delete(immediate);
        then(...args);
      });
      waiting.add(immediate);
      return immediate;
    };
    globalThis.setImmediate = Object.assign(counted, machines.setImmediate);
    globalThis.clearImmediate = (immediate) => {
      if (immediate !== undefined) waiting.delete(immediate);
      machines.clearImmediate(immediate);
    };
  }

  get areWaiting(): boolean {
    return this.waiting.size > 0;
  }

  /** Gives the process its own back. */
  restore(): void {
    Object.assign(globalThis, this.machines);
  }
}
