import type { Clock } from './clock.js';

/**
 * A lazily loaded value that is cached for `ttlMs`. Concurrent callers share one load. If a reload fails, the old value
 * is served for another `keepMs`; after that the error is thrown.
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

  /** If the clock was set back, the age of a value is unknown, so it is not fresh. */
  private isFresh(at: number): boolean {
    const age = this.clock.now() - at;
    return age >= 0 && age < this.ttlMs;
  }

  /** Reloads at any age; joins a load in progress. */
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

/** `Cached` values by key; entries that were not requested during `ttlMs` are dropped. */
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
