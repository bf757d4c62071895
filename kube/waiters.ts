import { reasonOf } from './limiter.js';

/** Those who wait until something holds; `wake` looks again. */
export class Waiters {
  private readonly checks = new Set<() => void>();

  /** Resolves once `condition` holds. Rejects with what it throws, and with the reason of `signal` once that is aborted. */
  until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.checks.delete(check);
        signal.removeEventListener('abort', onAbort);
        act();
      };
      const check = (): void => {
        try {
          if (condition()) settle(resolve);
        } catch (error) {
          settle(() => {
            reject(error instanceof Error ? error : new Error(String(error)));
          });
        }
      };
      const onAbort = (): void => {
        settle(() => {
          reject(reasonOf(signal));
        });
      };
      if (signal.aborted) {
        reject(reasonOf(signal));
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.checks.add(check);
      check();
    });
  }

  wake(): void {
    for (const check of [...this.checks]) check();
  }
}
