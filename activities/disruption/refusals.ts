import { ApplicationFailure } from '@temporalio/common';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { recordsOf } from '../../cluster/pool-records.js';
import { updateObject } from '../../cluster/writes.js';
import { refusals, type ReconsiderOrder, type Refused } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { withRecords } from './admission.js';
import type { DisruptionActivities } from './contract.js';

const hour = 3_600_000;

/** How long a refused command is not proposed again, by the outcome. */
const refusedForMs = { rejected: 24 * hour, aborted: hour } as const;

/** Records on the NodePools of its nodes that a person refused a command (budgets/records). */
export async function noteRefused(
  { kube, now }: Pick<ActivityDeps, 'kube' | 'now'>,
  { outcome, reason, nodes, saves, why }: Parameters<DisruptionActivities['noteRefused']>[0],
): Promise<void> {
  const at = now();
  const refused = { reason, nodes, saves, why: why.slice(0, 160), at, until: at + refusedForMs[outcome] };
  for (const nodePool of new Set(nodes.map((one) => one.nodePool))) {
    await updateObject(kube, 'NodePool', nodePool, (pool) => {
      const { records } = recordsOf(pool);
      const others = records.refused.filter((one) => one.until > at && !isSame(one, refused));
      return withRecords({ ...records, refused: [...others, refused] });
    });
  }
}

/** A later refusal of the same nodes replaces the earlier one, as does a second attempt of this activity. */
const isSame = (a: Refused, b: Refused): boolean =>
  a.reason === b.reason && JSON.stringify(a.nodes.map(uidOf)) === JSON.stringify(b.nodes.map(uidOf));

const uidOf = ({ claim }: Refused['nodes'][number]): string => claim.uid;

/** Revokes refusals, and returns those that are left. Fails if none matches. */
export async function takeRefusalsBack(deps: ActivityDeps, order: ReconsiderOrder): Promise<readonly Refused[]> {
  const { kube, now } = deps;
  const pools = await kube.list('NodePool');
  const isMeant = (one: Refused): boolean => one.until > now() && concerns(one, order);
  const meant = pools.filter((pool) => recordsOf(pool).records.refused.some(isMeant));
  if (meant.length === 0) {
    const there = [...new Set(refusedIn(pools, now()).flatMap(({ nodes }) => nodes.map(({ node }) => node)))];
    const { node, nodePool } = order;
    throw ApplicationFailure.create({
      type: refusals.nothingRefused,
      message: `nothing is refused for ${node ?? nodePool ?? 'any node'}; refused: ${there.slice(0, 10).join(', ') || 'nothing'}`,
      nonRetryable: true,
    });
  }
  for (const { metadata } of meant) {
    await updateObject(kube, 'NodePool', metadata.name ?? '', (pool) => {
      const { records } = recordsOf(pool);
      return withRecords({ ...records, refused: records.refused.filter((one) => !isMeant(one)) });
    });
  }
  return refusedIn(await kube.list('NodePool'), now());
}

function refusedIn(pools: readonly NodePool[], now: number): readonly Refused[] {
  const all = pools.flatMap((pool) => recordsOf(pool).records.refused.filter(({ until }) => until > now));
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

function concerns({ nodes }: Refused, { node, nodePool, all }: ReconsiderOrder): boolean {
  if (all === true) return true;
  return nodes.some((one) => one.node === node || one.claim.name === node || one.nodePool === nodePool);
}
