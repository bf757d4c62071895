/**
 * The origin of a user's order. The `stowage` command asks Kubernetes for authorization before it sends an order, and
 * says so in a header; messages sent to Temporal by other means lack it. This is not a security boundary: any client
 * with write access to the Temporal namespace can send the header too.
 */

/** Headers of calls to Temporal. */
export const orderHeaders = {
  /** On an order that Kubernetes authorized, or that a workflow forwards. */
  vouched: 'stowage-order-vouched',
  /** On every call of the operator and of workflows: the policy for orders. */
  policy: 'stowage-order-policy',
} as const;

/** Which orders workflows accept: all; only authorized ones if they have force; only authorized ones. */
export const orderPolicies = ['Any', 'AuthorisedForce', 'Authorised'] as const;
export type OrderPolicy = (typeof orderPolicies)[number];

/** Whether an order without authorization by Kubernetes is refused. */
export function refusesDirect(policy: OrderPolicy | undefined, [order]: readonly unknown[]): boolean {
  if (policy === 'AuthorisedForce') return (order as { readonly force?: unknown }).force === true;
  return policy === 'Authorised';
}

/** Messages that are orders if they have an `actor`. */
const orderNames: ReadonlySet<string> = new Set([
  ...['approve', 'reject', 'abort', 'hold', 'retry', 'expedite', 'rollback'],
  ...['pause', 'resume', 'reconsider'],
]);

interface ByActor {
  readonly actor: string;
}

/**
 * The user's order in a message to a workflow; undefined otherwise. Messages of these names from other workflows have
 * no actor.
 */
export function orderOfPerson(name: string, args: readonly unknown[]): ByActor | undefined {
  const [order] = args as readonly (Partial<ByActor> | null | undefined)[];
  if (!orderNames.has(name) || typeof order !== 'object' || order === null) return undefined;
  return typeof order.actor === 'string' && order.actor.trim() !== '' ? (order as ByActor) : undefined;
}

/** Suffix of the name of an actor that Kubernetes did not authenticate. */
const mark = '(not authenticated)';

/** The name of an actor, marked as not authenticated. */
export const unauthenticated = (actor: string): string => (actor.endsWith(mark) ? actor : `${actor} ${mark}`);

export const isAuthenticated = (actor: string): boolean => !actor.endsWith(mark);
