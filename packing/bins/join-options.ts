import type { BinGroup } from './plan.js';

/** A number of bins of a group. */
export interface BinCopies {
  readonly group: BinGroup;
  readonly copies: number;
}
/** Bins that can be joined to one, the extra cost of that, and by how many bins the number falls. */
export interface JoinOption {
  readonly offer: number;
  readonly from: readonly BinCopies[];
  readonly extra: number;
  readonly fewer: number;
}
export const byRate = (a: JoinOption, b: JoinOption): number => a.extra / a.fewer - b.extra / b.fewer;
export const isAvailable = ({ from }: JoinOption): boolean => from.every(({ group, copies }) => group.times >= copies);
/** Merges two sorted lists. */
export function merged(a: readonly JoinOption[], b: readonly JoinOption[]): JoinOption[] {
  const all: JoinOption[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (j >= b.length || (i < a.length && byRate(a[i]!, b[j]!) <= 0)) all.push(a[i++]!);
    else all.push(b[j++]!);
  }
  return all;
}
/** The pods of all copies, items ascending. */
export function contentOf(from: readonly BinCopies[]): Pick<BinGroup, 'items' | 'pods'> {
  const sum = new Map<number, number>();
  for (const { group, copies } of from) {
    group.items.forEach((item, k) => sum.set(item, (sum.get(item) ?? 0) + copies * group.pods[k]!));
  }
  const items = Int32Array.from(sum.keys()).sort();
  return { items, pods: items.map((item) => sum.get(item)!) };
}
