import { CancellationScope, isCancellation } from '@temporalio/workflow';

/** Lets an `expedite` order cancel the step under way, which the caller then repeats at once. */
export class ExpediteScope {
  private scope = new CancellationScope();
  private isOrdered = false;

  /** Whether an order came since the last step began. */
  get isExpedited(): boolean {
    return this.isOrdered;
  }

  expedite(): void {
    this.isOrdered = true;
    this.scope.cancel();
  }

  /** The step that begins now takes earlier orders into account. */
  begin(): void {
    this.isOrdered = false;
  }

  /** Runs `step`; undefined if an order cancelled it. */
  async runUnlessExpedited<T>(step: () => Promise<T>): Promise<T | undefined> {
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
