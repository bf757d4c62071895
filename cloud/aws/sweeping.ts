import { isDomainError } from '../../core/failures.js';

/** Collects the failures of a sweep: each concerns one object, and the others are still swept. */
export class Failures {
  private readonly found: unknown[] = [];

  /** An object that no longer exists is not a failure. */
  async collect(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!isDomainError(error, 'NotFound')) this.found.push(error);
    }
  }

  /** Throws the first failure, if any. */
  throwFirst(): void {
    if (this.found.length > 0) throw this.found[0];
  }
}
