import type { Client } from '@temporalio/client';
import { workflowIds } from '../core/ids.js';
import { leaseHolder } from '../kube/leases.js';
import type { KubeClient } from '../kube/port.js';
import { findStuck } from '../operator/stuck/findings.js';
import type { Finding } from '../operator/stuck/findings.js';
import { observeEngine } from '../operator/stuck/observe-engine.js';
import { unavailableOfferings } from '../worker/offering-ledger.js';
import type { PoolCapacity } from '../workflows/messages.js';
import { capacityQuery, nextWindowQuery, pausesQuery, refusedQuery } from '../workflows/messages.js';
import { clusterRows } from './status-objects.js';
import type { OfferingRow, PoolRow, StatusReport } from './status-rows.js';
import { statusWorkflows } from './status-workflows.js';

/** Karpenter renews its lease every two seconds. */
const leaseObserveMs = 3000;

interface StatusDeps {
  readonly kube: Pick<KubeClient, 'get' | 'list'>;
  readonly client: Client;
  readonly cluster: string;
  /** Karpenter's leader lease. */
  readonly karpenterLease: { readonly namespace: string; readonly name: string };
  /** Milliseconds of the epoch. */
  readonly now: number;
}

/** What the cluster has and what Stowage is doing about it. Rejects when the API server or Temporal is unreachable. */
export async function statusReport(deps: StatusDeps): Promise<StatusReport> {
  const karpenter = await karpenterHolder(deps);
  // While the workers stand still nobody answers queries: each would be waited for in vain.
  const isAnswered = karpenter === undefined;
  const [stuck, objects, workflows, unavailable, people] = await Promise.all([
    isAnswered ? stuckFindings(deps) : [],
    clusterRows(deps.kube, deps.now),
    statusWorkflows(deps, isAnswered),
    isAnswered ? offeringRows(deps) : [],
    isAnswered ? disruptState(deps) : nothingKnown,
  ]);
  const { capacity, ...told } = people;
  const pools = objects.pools.map((pool) => ({ ...pool, ...priceOf(capacity, pool.nodePool) }));
  return {
    ...(isAnswered ? {} : { karpenter }),
    stuck,
    workflows: workflows.rows,
    moreUnderWay: workflows.more,
    unavailable,
    ...told,
    ...objects,
    pools,
  };
}

/** Who may not read the lease is told of everything else. */
async function karpenterHolder({ kube, karpenterLease }: StatusDeps): Promise<StatusReport['karpenter']> {
  const { namespace, name } = karpenterLease;
  const query = { client: kube, namespace, name, observeMs: leaseObserveMs };
  const holder = await leaseHolder(query).catch(() => undefined);
  return holder === undefined ? undefined : { holder, lease: `${namespace}/${name}` };
}

async function stuckFindings({ kube, client, cluster, now }: StatusDeps): Promise<readonly Finding[]> {
  const [engine, pods, pools] = await Promise.all([
    observeEngine(client, cluster).then(
      (found) => ({ engine: found }),
      (error: unknown) => ({ engine: undefined, unreachable: String(error) }),
    ),
    // Who may not list pods is told of everything else.
    kube.list('Pod', { fieldSelector: 'spec.nodeName=' }).catch(() => []),
    kube.list('NodePool'),
  ]);
  return findStuck({ now, ...engine, pods, pools });
}

type DisruptState = Pick<StatusReport, 'pauses' | 'nextWindow' | 'refused'> & {
  readonly capacity: readonly PoolCapacity[];
};

const nothingKnown: DisruptState = { pauses: [], refused: [], capacity: [] };

function priceOf(capacity: readonly PoolCapacity[], nodePool: string): Pick<PoolRow, 'pricePerHour'> {
  const known = capacity.find((one) => one.nodePool === nodePool);
  return known === undefined ? {} : { pricePerHour: known.pricePerHour };
}

/** What `disrupt` knows; without a worker nobody answers, and nothing is known. */
async function disruptState({ client, cluster }: { client: Client; cluster: string }): Promise<DisruptState> {
  const handle = client.workflow.getHandle(workflowIds.disrupt(cluster));
  try {
    // One after the other: a call that still retries when the connection is closed ends the process.
    return await client.connection.withDeadline(Date.now() + 2000, async () => {
      const pauses = await handle.query(pausesQuery);
      const refused = await handle.query(refusedQuery);
      const capacity = await handle.query(capacityQuery);
      return { pauses, refused, capacity, nextWindow: await handle.query(nextWindowQuery) };
    });
  } catch {
    return nothingKnown;
  }
}

/** Without a worker nobody answers: then none is shown. */
async function offeringRows({
  client,
  cluster,
  now,
}: {
  client: Client;
  cluster: string;
  now: number;
}): Promise<OfferingRow[]> {
  const refusals = await unavailableOfferings(client, cluster).catch(() => []);
  return refusals
    .filter(({ until }) => until > now)
    .map(({ instanceType, zone, capacityType, reason, until }) => ({
      ...{ instanceType, zone, capacityType, reason },
      until: new Date(until).toISOString(),
    }));
}
