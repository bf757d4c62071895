/** Asks when first called, and gives the same answer from then on; a promise is shared too. */
export function once<T>(ask: () => T): () => T {
  let known: { readonly answer: T } | undefined;
  return () => (known ??= { answer: ask() }).answer;
}
