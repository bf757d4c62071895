import { compareText, counted } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import type { Cause, TypeGroup } from '../types.js';

/** Maximum number of names that a group of types lists, and of families in its title. */
const mostNames = 20;
const mostFamilies = 3;

/** A cause that excludes types. */
export interface FindingKind {
  /** Types with the same text form one group. */
  readonly text: string;
  /** Combines the findings of the group into one cause. */
  readonly cause: (group: readonly TypeFinding[]) => Cause;
}

/** What excludes a type, with the data that its group combines. */
export interface TypeFinding {
  readonly kind: FindingKind;
  readonly type: InstanceType;
  /** Amount of the scarce resource that the type leaves for pods. */
  readonly leaves?: number;
  readonly offerings?: readonly Offering[];
}

/** A kind with the same cause for every type. */
export const fixedKind = (cause: Cause): FindingKind => ({
  text: `${cause.reason} ${cause.subject ?? ''} ${cause.message}`,
  cause: () => cause,
});

/** Groups the types by what excludes them; the largest groups first. */
export function grouped(findings: readonly TypeFinding[]): TypeGroup[] {
  const byKind = new Map<FindingKind, TypeFinding[]>();
  for (const finding of findings) push(byKind, finding.kind, [finding]);
  const byText = new Map<string, TypeFinding[]>();
  for (const [{ text }, list] of byKind) push(byText, text, list);
  const groups = [...byText.values()].map((list) => {
    const ordered = list.sort((a, b) => compareText(a.type.name, b.type.name));
    const names = [...new Set(ordered.map(({ type }) => type.name))];
    return {
      group: titleOf(names),
      types: names.length,
      instanceTypes: names.slice(0, mostNames),
      ...ordered[0]!.kind.cause(ordered),
    };
  });
  return groups.sort((a, b) => b.types - a.types || compareText(a.message, b.message));
}

function push<K>(into: Map<K, TypeFinding[]>, key: K, more: readonly TypeFinding[]): void {
  const there = into.get(key);
  if (there === undefined) into.set(key, [...more]);
  else for (const each of more) there.push(each);
}

/** A title by family, which is the part of a type's name before the dot. */
function titleOf(names: readonly string[]): string {
  if (names.length === 1) return names[0]!;
  const families = [...new Set(names.map((name) => name.split('.')[0]!))];
  const [last, ...before] = [...families].reverse();
  const named =
    families.length > mostFamilies
      ? `${families.slice(0, mostFamilies - 1).join(', ')} and ${families.length - mostFamilies + 1} other families`
      : [before.reverse().join(', '), last!].filter((part) => part !== '').join(' and ');
  return `${named} (${counted(names.length, 'type')})`;
}
