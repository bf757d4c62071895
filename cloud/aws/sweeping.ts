import { isDomainError } from '../../core/failures.js';

/** The failures of a sweep: each is its object's own, and the others are swept all the same. */
export class Failures {
  private readonly found: unknown[] = [];

  /** What is not there any more is no failure. */
  async collect(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!isDomainError(error, 'NotFound')) this.found.push(error);
    }
  }

  /** Throws the first that was met, if any. */
  throwFirst(): void {
    if (this.found.length > 0) throw this.found[0];
  }
}
