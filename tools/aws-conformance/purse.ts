/** What a step may cost at most. */
export interface Bound {
  readonly machines: number;
  /** Of the dearest machine that may be launched, dollars per hour. */
  readonly perHour: number;
  readonly minutes: number;
}

/** EC2 bills a minute at least. */
const leastMs = 60_000;
const hourMs = 3_600_000;

/** Money: nothing is launched that could take more of it than is left. */
export class Purse {
  #spent = 0;
  #held = 0;
  readonly #running = new Map<string, { readonly since: number; readonly perHour: number }>();

  constructor(
    private readonly dollars: number,
    private readonly now: () => number,
  ) {}

  /** Dollars so far, by list prices: those of machines that still run are counted up to now. */
  get spent(): number {
    const now = this.now();
    return [...this.#running.values()].reduce((sum, machine) => sum + this.#cost(machine, now), this.#spent);
  }

  /** Why there is not enough money for this; undefined when there is, and then it is set aside until `release`. */
  hold({ machines, perHour, minutes }: Bound): string | undefined {
    const worst = (machines * perHour * minutes) / 60;
    const left = this.dollars - this.spent - this.#held;
    if (worst > left) return `it could cost $${worst.toFixed(2)}, and $${Math.max(0, left).toFixed(2)} are left`;
    this.#held += worst;
    return undefined;
  }

  release({ machines, perHour, minutes }: Bound): void {
    this.#held = Math.max(0, this.#held - (machines * perHour * minutes) / 60);
  }

  started(id: string, perHour: number): void {
    if (!this.#running.has(id)) this.#running.set(id, { since: this.now(), perHour });
  }

  ended(id: string): void {
    const machine = this.#running.get(id);
    if (machine === undefined) return;
    this.#spent += this.#cost(machine, this.now());
    this.#running.delete(id);
  }

  #cost({ since, perHour }: { readonly since: number; readonly perHour: number }, now: number): number {
    return (Math.max(leastMs, now - since) / hourMs) * perHour;
  }
}
