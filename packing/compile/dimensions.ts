/** Assigns a column to each resource: cpu, memory and pods first, others when a pod or DaemonSet requests them. */
export class Dimensions {
  readonly names: string[] = ['cpu', 'memory', 'pods'];
  private readonly index = new Map(this.names.map((name, i) => [name, i]));

  private sealed = false;

  get count(): number {
    return this.names.length;
  }

  /** The column of a resource; adds it if needed. */
  column(name: string): number {
    let column = this.index.get(name);
    if (column === undefined) {
      column = this.names.length;
      this.names.push(name);
      this.index.set(name, column);
    }
    return column;
  }

  /**
   * Sorts the columns after all resources were added, so that they do not depend on the order of the input. Resources
   * that only running pods use have no column.
   */
  seal(): void {
    const others = this.names.splice(3).sort();
    this.names.push(...others);
    this.names.forEach((name, i) => this.index.set(name, i));
    this.sealed = true;
  }

  /** Adds columns for the resources of `amounts`. */
  register(amounts: ReadonlyMap<string, number>): void {
    if (this.sealed) return;
    for (const [name, amount] of amounts) if (amount > 0) this.column(name);
  }

  vector(amounts: ReadonlyMap<string, number>): Float64Array {
    const vector = new Float64Array(this.count);
    for (const [name, amount] of amounts) {
      const column = this.index.get(name);
      if (column !== undefined) vector[column] = amount;
    }
    return vector;
  }
}
