/** Without the kind of hindrance that ends the names in `StowageBlockedBy`: `pdb/shop/web (never)` is `pdb/shop/web` where a sentence says the rest. */
export const blockerName = (name: string): string => name.replace(/ \([\w-]+\)$/, '');

/** `pdb/shop/web can never allow an eviction`. */
export const blockerText = ({ name, why }: { readonly name: string; readonly why: string }): string =>
  `${blockerName(name)} ${why}`;
