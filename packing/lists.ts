/*
 * `map` and `filter` for lists that are kept and gone through often. What the built-in ones make is of another kind to V8 (holey or
 * packed, of anything or of small numbers) once the code that calls them is compiled: whatever was compiled for lists of the
 * former kind is thrown away then, and runs uncompiled for a dozen passes.
 */

export function mapped<T, U>(list: readonly T[], make: (each: T) => U): U[] {
  if (list.length === 0) return [];
  // What is pushed onto an empty list makes room for 17; most have one or two.
  const made = [make(list[0]!)];
  for (let k = 1; k < list.length; k++) made.push(make(list[k]!));
  return made;
}

export function filtered<T>(list: readonly T[], test: (each: T) => boolean): T[] {
  let k = 0;
  while (k < list.length && !test(list[k]!)) k++;
  if (k === list.length) return [];
  const found = [list[k]!];
  for (k++; k < list.length; k++) if (test(list[k]!)) found.push(list[k]!);
  return found;
}

/** The lists one after the other. */
export function joined<T>(...lists: readonly (readonly T[])[]): T[] {
  let all: T[] | undefined;
  for (const list of lists) {
    for (let k = 0; k < list.length; k++) {
      if (all === undefined) all = [list[k]!];
      else all.push(list[k]!);
    }
  }
  return all ?? [];
}

/** Whether they have the very same entries in the same order. */
export function isSameList<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}

const emptied: never[] = [{} as never];
emptied.length = 0;

/** An empty list for all who have nothing to list, of the kind that lists of objects are of. */
export const emptyList: readonly never[] = emptied;
