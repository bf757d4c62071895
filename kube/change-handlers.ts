import type { Kind, Kinds } from './port.js';
import type { Change } from './store.js';

/** Hears of each change of a kind. */
export type ChangeHandler<T> = (change: { type: 'added' | 'modified' | 'deleted'; object: T; previous?: T }) => void;

/** The handlers of changes, by kind. One that throws stops neither the cache nor the others. */
export class ChangeHandlers {
  private readonly byKind = new Map<Kind, Set<ChangeHandler<Kinds[Kind]>>>();

  constructor(private readonly onProblem: (kind: Kind, error: Error) => void) {}

  /** Returns how to remove the handler again. */
  add<K extends Kind>(kind: K, handler: ChangeHandler<Kinds[K]>): () => void {
    const handlers = this.byKind.get(kind) ?? new Set();
    this.byKind.set(kind, handlers);
    // Wrapped, so that a handler that is added twice is called twice, and each is removed by itself.
    const own: ChangeHandler<Kinds[Kind]> = (change) => {
      (handler as unknown as ChangeHandler<Kinds[Kind]>)(change);
    };
    handlers.add(own);
    return () => {
      handlers.delete(own);
    };
  }

  notify(kind: Kind, { type, object, previous }: Change<Kinds[Kind]>): void {
    if (type === 'refreshed') return;
    for (const handler of [...(this.byKind.get(kind) ?? [])]) {
      try {
        handler({ type, object, ...(previous === undefined ? {} : { previous }) });
      } catch (error) {
        this.onProblem(kind, error as Error);
      }
    }
  }
}
