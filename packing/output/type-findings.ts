import { compareText, counted } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import type { Cause, TypeGroup } from '../types.js';

/** Names that a group of types lists, and families that its title names. */
const mostNames = 20;
const mostFamilies = 3;

/** One thing that stops types. */
export interface FindingKind {
  /** Types of one text are one group. */
  readonly text: string;
  /** The cause, from all findings of the group. */
  readonly cause: (group: readonly TypeFinding[]) => Cause;
}

/** What stops a type, with what its group adds up. */
export interface TypeFinding {
  readonly kind: FindingKind;
  readonly type: InstanceType;
  /** What the type leaves for pods of the resource that is short. */
  readonly leaves?: number;
  readonly offerings?: readonly Offering[];
}

/** A kind whose cause is the same for every type. */
export const fixedKind = (cause: Cause): FindingKind => ({
  text: `${cause.reason} ${cause.subject ?? ''} ${cause.message}`,
  cause: () => cause,
});

/** The types by what stops them; the groups of most types first. */
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

/** Types by family: what stands before the dot of their names. */
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
