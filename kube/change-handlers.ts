import type { Kind, Kinds } from './port.js';
import type { Change } from './store.js';

/** Hears of each change of a kind. */
export type ChangeHandler<T> = (change: { type: 'added' | 'modified' | 'deleted'; object: T; previous?: T }) => void;

/** The handlers of changes, by kind. One that throws stops neither the cache nor the others. */
export class ChangeHandlers {
  private readonly byKind = new Map<Kind, Set<ChangeHandler<Kinds[Kind]>>>();

  constructor(private readonly onFault: (kind: Kind, error: Error) => void) {}

  /** Tells the handler of the objects that are there already, as added. Returns how to remove it again. */
  add<K extends Kind>(kind: K, handler: ChangeHandler<Kinds[K]>, present: readonly Kinds[K][] = []): () => void {
    const handlers = this.byKind.get(kind) ?? new Set();
    this.byKind.set(kind, handlers);
    // Wrapped, so that a handler that is added twice is called twice, and each is removed by itself.
    const own: ChangeHandler<Kinds[Kind]> = (change) => {
      (handler as unknown as ChangeHandler<Kinds[Kind]>)(change);
    };
    handlers.add(own);
    for (const object of present) this.call(kind, own, { type: 'added', object });
    return () => {
      handlers.delete(own);
    };
  }

  notify(kind: Kind, { type, object, previous }: Change<Kinds[Kind]>): void {
    if (type === 'refreshed') return;
    for (const handler of [...(this.byKind.get(kind) ?? [])]) {
      this.call(kind, handler, { type, object, ...(previous === undefined ? {} : { previous }) });
    }
  }

  private call(
    kind: Kind,
    handler: ChangeHandler<Kinds[Kind]>,
    change: Parameters<ChangeHandler<Kinds[Kind]>>[0],
  ): void {
    try {
      handler(change);
    } catch (error) {
      this.onFault(kind, error as Error);
    }
  }
}
