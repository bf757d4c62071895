import type { Clock } from './clock.js';

/**
 * A value that is loaded when asked for and kept for `ttlMs`. Callers that ask while it loads share one load. When a
 * reload fails, the old value is served for `keepMs` beyond its time; after that the failure is thrown.
 */
export class Cached<T> {
  private value: { readonly content: T; readonly at: number } | undefined;
  private loading: Promise<T> | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly load: () => Promise<T>,
    private readonly ttlMs: number,
    private readonly keepMs = 0,
  ) {}

  async get(): Promise<T> {
    const value = this.value;
    if (value !== undefined && this.isFresh(value.at)) return value.content;
    try {
      return await this.refresh();
    } catch (error) {
      if (value !== undefined && this.clock.now() - value.at < this.ttlMs + this.keepMs) return value.content;
      throw error;
    }
  }

  /** By a clock that was set back meanwhile nobody can say how old a value is. */
  private isFresh(at: number): boolean {
    const age = this.clock.now() - at;
    return age >= 0 && age < this.ttlMs;
  }

  /** Loads again whatever the age; joins a load that is under way. */
  refresh(): Promise<T> {
    this.loading ??= this.load()
      .then((content) => {
        this.value = { content, at: this.clock.now() };
        return content;
      })
      .finally(() => {
        this.loading = undefined;
      });
    return this.loading;
  }

  forget(): void {
    this.value = undefined;
  }
}

/** `Cached` values by key; entries that were not asked for during `ttlMs` are dropped. */
export class CachedByKey<T> {
  private readonly entries = new Map<string, { readonly cached: Cached<T>; askedAt: number }>();

  constructor(
    private readonly clock: Clock,
    private readonly ttlMs: number,
    /** As in `Cached`. */
    private readonly keepMs = 0,
  ) {}

  get(key: string, load: () => Promise<T>): Promise<T> {
    const now = this.clock.now();
    for (const [other, entry] of this.entries) if (now - entry.askedAt > this.ttlMs) this.entries.delete(other);
    const entry = this.entries.get(key) ?? {
      cached: new Cached(this.clock, load, this.ttlMs, this.keepMs),
      askedAt: now,
    };
    entry.askedAt = now;
    this.entries.set(key, entry);
    return entry.cached.get();
  }

  forget(key: string): void {
    this.entries.delete(key);
  }
}
