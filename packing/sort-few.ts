/**
 * Sorts a short list in place. The built-in `sort` makes two copies first, which is more work than sorting a few
 * entries.
 */
export function sortFew<T>(list: T[], compare: (a: T, b: T) => number): T[] {
  if (list.length > few) return list.sort(compare);
  for (let k = 1; k < list.length; k++) {
    const each = list[k]!;
    let at = k;
    for (; at > 0 && compare(list[at - 1]!, each) > 0; at--) list[at] = list[at - 1]!;
    list[at] = each;
  }
  return list;
}

const few = 16;
