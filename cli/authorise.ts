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

/**
 * The Kubernetes permission required for an order (authorization/rights). `approvals` is not a kind: RBAC grants it by
 * its name.
 */
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

/** The name of a cluster, and the record in Temporal of which Kubernetes cluster uses it. */
interface Cluster {
  readonly cluster: string;
  readonly register: Pick<ClusterIdentityStore, 'read'>;
}

/**
 * The actor to record for an order: the user name according to the API server, followed by `onBehalf`. Throws
 * `UsageError` without the permission (authorization/orders), and the client's error if the API server does not
 * respond.
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
 * Like `actorOf`, with the API server of the cluster that the order is for (authorization/whose-api-server); marked as
 * not authenticated if Temporal has no record of that cluster.
 */
export async function actorIn(
  { kube, ...cluster }: Cluster & { readonly kube: Reviewer },
  right: Right,
  onBehalf?: string,
): Promise<string> {
  const actor = await actorOf(kube, right, onBehalf);
  return (await isOwnCluster(kube, cluster)) ? actor : unauthenticated(actor);
}

/**
 * Whether the name is recorded for the cluster of that API server; throws `UsageError` if it is recorded for another.
 */
export async function isOwnCluster(kube: Pick<KubeClient, 'get'>, { cluster, register }: Cluster): Promise<boolean> {
  const recorded = await register.read();
  if (recorded === undefined) return false;
  const own = await kubeSystemUid(kube);
  if (recorded !== own) throw new UsageError(foreignName(cluster, own, recorded).found);
  return true;
}

/** `--as NAME` of every order. An empty name throws `UsageError` when the command line is parsed. */
export function onBehalfOption(): Option {
  return new Option('--as <name>', 'the person for whom you act: recorded after your user name').argParser((name) => {
    checkOnBehalf(name);
    return name;
  });
}

function checkOnBehalf(onBehalf: string | undefined): void {
  if (onBehalf?.trim() === '')
    throw new UsageError('--as is empty: give the name of the person for whom you act, or omit it');
}

function denied(user: string, { verb, resource, subresource }: Right, reason = ''): string {
  const what = `${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  return (
    `${user} may not ${verb} ${what} of group ${group}${reason === '' ? '' : ` (${reason})`}: ` +
    'nothing was ordered. The ClusterRoles stowage-orders and stowage-forced-orders have these rights'
  );
}

/**
 * Like `actorOf`, for the cluster in the settings. If no API server responds, the actor is the local user, marked as
 * not authenticated: a pause must be possible then too (authorization/without-kubernetes).
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
