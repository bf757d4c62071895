/**
 * `map` and `filter` for hot lists. The built-in functions, once their caller is optimized, return arrays of another V8
 * elements kind (holey or packed, objects or small integers). Code optimized for the former kind is then deoptimized
 * and runs slowly for a dozen passes.
 */

export function mapped<T, U>(list: readonly T[], make: (each: T) => U): U[] {
  if (list.length === 0) return [];
  // Pushing onto an empty array reserves room for 17 entries; most lists have one or two.
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

/** Concatenates the lists. */
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

/** Whether both lists have identical entries in the same order. */
export function isSameList<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}

const emptied: never[] = [{} as never];
emptied.length = 0;

/** A shared empty list, of the same elements kind as lists of objects. */
export const emptyList: readonly never[] = emptied;
