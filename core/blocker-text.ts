/** The name without the kind of blocker in brackets that `StowageBlockedBy` has: `pdb/shop/web (never)` becomes `pdb/shop/web`. */
export const blockerName = (name: string): string => name.replace(/ \([\w-]+\)$/, '');

/** `pdb/shop/web can never allow an eviction`. */
export const blockerText = ({ name, why }: { readonly name: string; readonly why: string }): string =>
  `${blockerName(name)} ${why}`;
