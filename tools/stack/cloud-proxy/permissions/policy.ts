import { holds, matches, type Context } from './conditions.js';

type OneOrMore<T> = T | readonly T[];

export interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: OneOrMore<string>;
  readonly Resource: OneOrMore<string>;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, OneOrMore<string | boolean>>>>>;
}

export interface Policy {
  readonly Statement: OneOrMore<Statement>;
}

/** One permission that a call needs: an action on a resource, with what IAM knows about the request. */
export interface Demand {
  /** Such as `ec2:RunInstances`. */
  readonly action: string;
  /** ARN, or `*` for actions that know no resources. */
  readonly resource: string;
  readonly context: Context;
}

/** What a call needs. */
export interface Demands {
  /** Without these the call is refused. */
  readonly call: readonly Demand[];
  /** Without these CreateFleet succeeds, and every override of it fails. */
  readonly overrides?: readonly Demand[];
}

export type Verdict =
  { readonly allowed: true; readonly by: Statement } | { readonly allowed: false; readonly explicit: boolean };

/** What identity-based policies say of a demand: a statement that denies it wins over any that allows it. */
export function decide(policies: readonly Policy[], demand: Demand): Verdict {
  const applying = policies.flatMap(({ Statement }) => listOf(Statement)).filter((each) => applies(each, demand));
  if (applying.some(({ Effect }) => Effect === 'Deny')) return { allowed: false, explicit: true };
  const by = applying.find(({ Effect }) => Effect === 'Allow');
  return by === undefined ? { allowed: false, explicit: false } : { allowed: true, by };
}

function applies({ Action, Resource, Condition = {} }: Statement, { action, resource, context }: Demand): boolean {
  return (
    listOf(Action).some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
    listOf(Resource).some((pattern) => pattern === '*' || matches(pattern, resource)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, wanted]) => holds(operator, key, listOf(wanted).map(String), context)),
    )
  );
}

function listOf<T>(value: OneOrMore<T>): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
