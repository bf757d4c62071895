import { Option } from 'commander';
import { isDomainError } from '../core/failures.js';
import { unauthenticated } from '../core/orders.js';
import { createKubeClient } from '../kube/client.js';
import type { KubeClient, ResourceAttributes } from '../kube/port.js';
import type { Settings } from '../process/settings.js';
import { UsageError } from './exit.js';
import { defaultActor } from './temporal.js';

/** What an order needs in Kubernetes (authorization/rights). `approvals` is no kind: a right that RBAC gives by its name. */
export type Right = Pick<ResourceAttributes, 'verb' | 'resource' | 'subresource'>;

export const rights = {
  pause: { verb: 'create', resource: 'disruptionpauses' },
  resume: { verb: 'delete', resource: 'disruptionpauses' },
  order: { verb: 'create', resource: 'approvals' },
  rollback: { verb: 'create', resource: 'approvals', subresource: 'rollback' },
  force: { verb: 'create', resource: 'approvals', subresource: 'force' },
} as const satisfies Record<string, Right>;

const group = 'stowage.dev';
type Reviewer = Pick<KubeClient, 'create'>;

/**
 * The actor to record for an order: whom the API server says the caller is, with `onBehalf` beside it. Throws `UsageError` for one
 * who has not the right (authorization/orders), and what the client throws where the API server does not answer.
 */
export async function actorOf(kube: Reviewer, right: Right, onBehalf?: string): Promise<string> {
  checkOnBehalf(onBehalf);
  const { object } = await kube.create('SelfSubjectReview', { metadata: {} });
  const user = object.status?.userInfo?.username ?? 'unknown';
  const resourceAttributes = { group, ...right };
  const review = await kube.create('SelfSubjectAccessReview', { metadata: {}, spec: { resourceAttributes } });
  if (review.object.status?.allowed !== true) throw new UsageError(denied(user, right, review.object.status?.reason));
  return onBehalf === undefined ? user : `${user} for ${onBehalf}`;
}

/** `--as NAME` of every order. Nobody orders anything: an empty name throws `UsageError` when the command is read, before anybody is asked. */
export function onBehalfOption(): Option {
  return new Option('--as <name>', 'on whose behalf: recorded beside who you are').argParser((name) => {
    checkOnBehalf(name);
    return name;
  });
}

function checkOnBehalf(onBehalf: string | undefined): void {
  if (onBehalf?.trim() === '')
    throw new UsageError('--as is empty: give the name of whom the order is for, or leave it out');
}

function denied(user: string, { verb, resource, subresource }: Right, reason = ''): string {
  const what = `${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  return (
    `${user} may not ${verb} ${what} of group ${group}${reason === '' ? '' : ` (${reason})`}: ` +
    'nothing was ordered. The ClusterRoles stowage-orders and stowage-forced-orders have these rights'
  );
}

/**
 * As `actorOf`, of the cluster that the settings name. Where no API server answers, the order goes on in the name of the machine's
 * user, marked as not authenticated: a pause must be possible then, too (authorization/without-kubernetes).
 */
export async function authorise(
  settings: Pick<Settings, 'KUBECONFIG'>,
  right: Right,
  onBehalf: string | undefined,
  connect: (settings: Pick<Settings, 'KUBECONFIG'>) => Reviewer & { close(): void } = connected,
): Promise<string> {
  checkOnBehalf(onBehalf);
  let kube: ReturnType<typeof connect> | undefined;
  try {
    kube = connect(settings);
    return await actorOf(kube, right, onBehalf);
  } catch (error) {
    if (kube !== undefined && !isDomainError(error, 'Unavailable')) throw error;
    return unauthenticated(onBehalf ?? defaultActor());
  } finally {
    kube?.close();
  }
}

const connected = ({ KUBECONFIG: kubeconfig }: Pick<Settings, 'KUBECONFIG'>): KubeClient & { close(): void } =>
  createKubeClient({
    userAgent: 'stowage-order',
    requestTimeoutMs: 5000,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });
