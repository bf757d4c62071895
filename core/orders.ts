/*
 * Where an order of a person came from. The `stowage` command asks Kubernetes before it sends one, and says so in a header; what is sent to
 * Temporal by other means has none. The header keeps honest people to the way through Kubernetes: whoever may write to the Temporal
 * namespace can send it, too.
 */

/** Headers of calls to Temporal. */
export const orderHeaders = {
  /** On an order that Kubernetes allowed, or that a workflow passes on. */
  vouched: 'stowage-order-vouched',
  /** On every call of the operator and of workflows: whose orders are taken. */
  policy: 'stowage-order-policy',
} as const;

/** Whose orders workflows take: of everybody; those with force of whom Kubernetes allowed them alone; all of them of these alone. */
export const orderPolicies = ['Any', 'AuthorisedForce', 'Authorised'] as const;
export type OrderPolicy = (typeof orderPolicies)[number];

/** Whether an order that Kubernetes did not allow is refused. */
export function refusesDirect(policy: OrderPolicy | undefined, [order]: readonly unknown[]): boolean {
  if (policy === 'AuthorisedForce') return (order as { readonly force?: unknown }).force === true;
  return policy === 'Authorised';
}

/** The messages that are orders, where they have an `actor`. */
const orderNames: ReadonlySet<string> = new Set([
  ...['approve', 'reject', 'abort', 'hold', 'retry', 'expedite', 'rollback'],
  ...['pause', 'resume', 'reconsider'],
]);

interface ByActor {
  readonly actor: string;
}

/** The order of a person in a message to a workflow; undefined for what is none. Workflows' own messages of these names have no actor. */
export function orderOfPerson(name: string, args: readonly unknown[]): ByActor | undefined {
  const [order] = args as readonly (Partial<ByActor> | null | undefined)[];
  if (!orderNames.has(name) || typeof order !== 'object' || order === null) return undefined;
  return typeof order.actor === 'string' && order.actor.trim() !== '' ? (order as ByActor) : undefined;
}

/** Stands behind the name of an actor whom Kubernetes did not authenticate. */
const mark = '(not authenticated)';

/** The name of an actor whom nobody authenticated, marked as such. */
export const unauthenticated = (actor: string): string => (actor.endsWith(mark) ? actor : `${actor} ${mark}`);

export const isAuthenticated = (actor: string): boolean => !actor.endsWith(mark);
