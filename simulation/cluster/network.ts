import { DomainError } from '../../core/failures.js';
import type { Random } from '../../cases/random.js';

/** How calls of a process to the API server, the cloud and Temporal go. Chances are per call, 0 to 1. */
export interface NetworkConditions {
  /** It takes `slowMs` at most, before and after its effect. Other calls take no time. */
  readonly slow: number;
  readonly slowMs: number;
  /** It fails before its effect. */
  readonly fails: number;
  /** Its answer is lost: it takes effect, and fails for the caller. */
  readonly loses: number;
}

export const quiet: NetworkConditions = { slow: 0, slowMs: 0, fails: 0, loses: 0 };

/**
 * The calls of one process. After `cut` none of them takes effect or returns any more: the process is dead, whatever its code
 * was doing.
 */
export class Network {
  conditions: NetworkConditions = quiet;
  private isCut = false;

  constructor(
    private readonly random: Random,
    private readonly onCall: () => void,
  ) {}

  get isAlive(): boolean {
    return !this.isCut;
  }

  cut(): void {
    this.isCut = true;
  }

  /** The way there alone: resolves when a call arrives. */
  async carry(): Promise<void> {
    await this.way();
    this.failBefore();
  }

  async call<T>(effect: () => Promise<T>): Promise<T> {
    await this.carry();
    const result = await effect();
    const isLost = this.random.chance(this.conditions.loses);
    await this.way();
    if (isLost) throw new DomainError('Unavailable', 'the answer was lost');
    return result;
  }

  /** The same object, each of whose methods named is called over this network. */
  over<T extends object>(target: T, methods: readonly (keyof T)[]): T {
    const called = Object.fromEntries(
      methods.map((name) => [
        name,
        (...args: unknown[]) =>
          this.call(() => (target[name] as (...args: unknown[]) => Promise<unknown>).apply(target, args)),
      ]),
    );
    return new Proxy(target, {
      get: (object, name) => {
        if (Object.hasOwn(called, name)) return called[name as string];
        const value: unknown = Reflect.get(object, name);
        return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(object) : value;
      },
    });
  }

  private failBefore(): void {
    if (this.random.chance(this.conditions.fails)) throw new DomainError('Unavailable', 'the call failed');
  }

  private async way(): Promise<void> {
    this.onCall();
    const { slow, slowMs } = this.conditions;
    if (this.random.chance(slow)) {
      const milliseconds = this.random.int(1, slowMs);
      await new Promise<void>((resolve) => void setTimeout(resolve, milliseconds));
    }
    if (this.isCut) await new Promise<never>(() => undefined);
  }
}
