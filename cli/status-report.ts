import { whyUnobserved } from '../operator/stuck/observed.js';
import type { Client } from '@temporalio/client';
import type { Pod } from '../api/kubernetes.js';
import { leaseHolder } from '../kube/leases.js';
import type { KubeClient } from '../kube/port.js';
import { findStuck, type Finding } from '../operator/stuck/findings.js';
import { observeEngine } from '../operator/stuck/observe-engine.js';
import { unavailableOfferings } from '../worker/offering-store.js';
import { disruptState, nothingKnown } from './status-disrupt.js';
import { clusterRows } from './status-objects.js';
import type { OfferingRow, StatusReport } from './status-rows.js';
import { type StatusKube, StatusReading } from './status-reading.js';
import { statusWorkflows } from './status-workflows.js';

/** Karpenter renews its lease every two seconds. */
const leaseObserveMs = 3000;

interface StatusInput {
  readonly kube: Pick<KubeClient, 'get' | 'list'>;
  readonly client: Client;
  readonly cluster: string;
  /** Karpenter's leader lease. */
  readonly karpenterLease: { readonly namespace: string; readonly name: string };
  /** Milliseconds of the epoch. */
  readonly now: number;
}

interface StatusDeps extends StatusInput {
  readonly reading: StatusReading;
  /** Returns empty lists for what may not be listed, and records that. */
  readonly lists: StatusKube;
}

/**
 * The state of the cluster and of Stowage. If the API server does not respond its data is empty and reported as unread.
 * Rejects if Temporal is unreachable.
 */
export async function statusReport(given: StatusInput): Promise<StatusReport> {
  const reading = new StatusReading();
  const deps = { ...given, reading, lists: reading.kube(given.kube) };
  const karpenter = await karpenterHolder(deps);
  // While Karpenter runs, workers are stopped and queries would time out.
  const isAnswered = karpenter === undefined;
  const pods = await deps.lists.list('Pod', { fieldSelector: 'spec.nodeName=' });
  const [stuck, objects, workflows, unavailable, people] = await Promise.all([
    isAnswered ? stuckFindings(deps, pods) : [],
    clusterRows(deps.lists, pods, deps.now),
    statusWorkflows(deps, isAnswered),
    isAnswered ? offeringRows(deps) : [],
    isAnswered ? disruptState(deps) : nothingKnown,
  ]);
  const { capacity, ...told } = people;
  const pools = objects.pools.map((pool) => ({
    ...pool,
    ...capacity.find(({ nodePool }) => nodePool === pool.nodePool),
  }));
  const under = { workflows: workflows.rows, moreUnderWay: workflows.more };
  const { unread } = reading;
  return { ...(isAnswered ? {} : { karpenter }), stuck, ...under, unavailable, ...told, ...objects, pools, unread };
}

async function karpenterHolder({ kube, karpenterLease, reading }: StatusDeps): Promise<StatusReport['karpenter']> {
  const { namespace, name } = karpenterLease;
  const query = { client: kube, namespace, name, observeMs: leaseObserveMs };
  const holder = await reading.or(`Karpenter's lease ${namespace}/${name}`, leaseHolder(query), undefined);
  return holder === undefined ? undefined : { holder, lease: `${namespace}/${name}` };
}

async function stuckFindings(
  { lists, client, cluster, now }: StatusDeps,
  pods: readonly Pod[],
): Promise<readonly Finding[]> {
  const [engine, pools] = await Promise.all([
    observeEngine(client, cluster).then(
      (found) => ({ engine: found }),
      (error: unknown) => ({ engine: undefined, unreachable: whyUnobserved(error) }),
    ),
    lists.list('NodePool'),
  ]);
  return findStuck({ now, ...engine, pods, pools });
}

async function offeringRows({ client, cluster, now, reading }: StatusDeps): Promise<OfferingRow[]> {
  const asked = unavailableOfferings(client, cluster);
  const refusals = await reading.or('offerings out of capacity (the workflow offerings)', asked, []);
  return refusals
    .filter(({ until }) => until > now)
    .map(({ instanceType, zone, capacityType, reason, until }) => ({
      ...{ instanceType, zone, capacityType, reason },
      until: new Date(until).toISOString(),
    }));
}
