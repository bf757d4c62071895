import { Option } from 'commander';
import { isDomainError } from '../core/failures.js';
import { unauthenticated } from '../core/orders.js';
import { createKubeClient } from '../kube/client.js';
import type { KubeClient, ResourceAttributes } from '../kube/port.js';
import type { ClusterIdentityStore } from '../process/cluster-identity.js';
import { foreignName, kubeSystemUid } from '../process/identity-gate.js';
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
type Reviewer = Pick<KubeClient, 'create' | 'get'>;

/** The name of a cluster, and where Temporal has which one that is. */
interface Cluster {
  readonly cluster: string;
  readonly register: Pick<ClusterIdentityStore, 'read'>;
}

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

/**
 * As `actorOf`, of the API server of the very cluster that the order is for (authorization/whose-api-server); marked as not authenticated where Temporal does
 * not have which one that is.
 */
export async function actorIn(
  { kube, ...cluster }: Cluster & { readonly kube: Reviewer },
  right: Right,
  onBehalf?: string,
): Promise<string> {
  const actor = await actorOf(kube, right, onBehalf);
  return (await isOwnCluster(kube, cluster)) ? actor : unauthenticated(actor);
}

/** Whether the name is known to stand for the cluster of that API server; `UsageError` where it stands for another. */
export async function isOwnCluster(kube: Pick<KubeClient, 'get'>, { cluster, register }: Cluster): Promise<boolean> {
  const recorded = await register.read();
  if (recorded === undefined) return false;
  const own = await kubeSystemUid(kube);
  if (recorded !== own) throw new UsageError(foreignName(cluster, own, recorded).found);
  return true;
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
  { settings, ...cluster }: Cluster & { readonly settings: Pick<Settings, 'KUBECONFIG'> },
  right: Right,
  onBehalf: string | undefined,
  connect: (settings: Pick<Settings, 'KUBECONFIG'>) => Reviewer & { close(): void } = connected,
): Promise<string> {
  checkOnBehalf(onBehalf);
  let kube: ReturnType<typeof connect> | undefined;
  try {
    kube = connect(settings);
    return await actorIn({ kube, ...cluster }, right, onBehalf);
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
