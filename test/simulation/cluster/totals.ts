import type { SimulationResult } from './simulate.js';

const dayMs = 24 * 60 * 60_000;

/** What several seeds came to together: how long they were, and how often each thing happened in how many simulated days. */
export class Totals {
  private seeds = 0;
  private failed = 0;
  private simulatedMs = 0;
  private faults = 0;
  private launches = 0;
  /** By what happened: how often, and the simulated milliseconds of the seeds in which it did. */
  private readonly happened = new Map<string, { times: number; inMs: number }>();

  add({ problems, simulatedMs, faults, launches, happened }: SimulationResult): void {
    this.seeds += 1;
    if (problems.length > 0) this.failed += 1;
    this.simulatedMs += simulatedMs;
    this.faults += faults;
    this.launches += launches;
    const times = new Map<string, number>();
    for (const { name } of happened) times.set(name, (times.get(name) ?? 0) + 1);
    for (const [name, more] of times) {
      const known = this.happened.get(name) ?? { times: 0, inMs: 0 };
      this.happened.set(name, { times: known.times + more, inMs: known.inMs + simulatedMs });
    }
  }

  /** What happened most often first. */
  lines(): readonly string[] {
    const rows = [...this.happened].sort(([a, { times: x }], [b, { times: y }]) => y - x || (a < b ? -1 : 1));
    return [
      `${this.seeds} seeds, ${this.failed} failed: ${daysText(this.simulatedMs)} simulated days, ${this.faults} faults, ${this.launches} launches`,
      '  times  days  what happened',
      ...rows.map(([name, { times, inMs }]) => `${String(times).padStart(7)}  ${daysText(inMs).padStart(4)}  ${name}`),
    ];
  }
}

const daysText = (milliseconds: number): string => (milliseconds / dayMs).toFixed(1);
