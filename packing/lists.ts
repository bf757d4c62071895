/*
 * `map` and `filter` for lists that are kept and gone through often. What the built-in ones make is of another kind to V8 (holey or
 * packed, of anything or of small numbers) once the code that calls them is compiled: whatever was compiled for lists of the
 * former kind is thrown away then, and runs uncompiled for a dozen passes.
 */

export function mapped<T, U>(list: readonly T[], make: (each: T) => U): U[] {
  const made: U[] = [];
  for (let k = 0; k < list.length; k++) made.push(make(list[k]!));
  return made;
}

export function filtered<T>(list: readonly T[], test: (each: T) => boolean): T[] {
  const found: T[] = [];
  for (let k = 0; k < list.length; k++) if (test(list[k]!)) found.push(list[k]!);
  return found;
}

/** The lists one after the other. */
export function joined<T>(...lists: readonly (readonly T[])[]): T[] {
  const all: T[] = [];
  for (let l = 0; l < lists.length; l++) for (let k = 0; k < lists[l]!.length; k++) all.push(lists[l]![k]!);
  return all;
}
