import { CancellationScope, isCancellation } from '@temporalio/workflow';

/** Lets somebody who hurries cut a step short: it is then taken anew, at once. */
export class Hurry {
  private scope = new CancellationScope();
  private isOrdered = false;

  /** Whether somebody hurried since the last step began. */
  get isDue(): boolean {
    return this.isOrdered;
  }

  order(): void {
    this.isOrdered = true;
    this.scope.cancel();
  }

  /** What is about to be looked at is what was ordered. */
  begin(): void {
    this.isOrdered = false;
  }

  /** Gives up waiting for `step` when somebody hurries: it is then taken anew. */
  async unlessHurried<T>(step: () => Promise<T>): Promise<T | undefined> {
    this.scope = new CancellationScope();
    const { scope } = this;
    try {
      return await scope.run(step);
    } catch (error) {
      if (isCancellation(error) && scope.consideredCancelled && !CancellationScope.current().consideredCancelled) {
        return undefined;
      }
      throw error;
    }
  }
}
