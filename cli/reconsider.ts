import type { Command } from 'commander';
import { annotations } from '../api/labels.js';
import { workflowIds } from '../core/ids.js';
import { lookUp } from '../core/own.js';
import type { KubeClient } from '../kube/port.js';
import { reconsiderUpdate, refusals } from '../workflows/messages.js';
import type { ReconsiderOrder } from '../workflows/messages.js';
import { TemporalClusterIdentityStore } from '../process/cluster-identity.js';
import { actorIn, onBehalfOption, rights } from './authorise.js';
import { UsageError } from './exit.js';
import { liveSettings, withLive } from './live.js';
import type { Live } from './live.js';
import { refusedTable } from './output/people-table.js';
import { givenFlags, settingsCommand, steeringSettings } from './settings-command.js';
import { ordered, RefusedError } from './temporal.js';

type ReconsiderScope = Pick<ReconsiderOrder, 'node' | 'nodePool' | 'all'>;

interface Options {
  readonly node?: string;
  readonly nodepool?: string;
  readonly all?: boolean;
  readonly because?: string;
  readonly as?: string;
}

export function reconsiderCommand(): Command {
  return settingsCommand('reconsider', { only: steeringSettings })
    .option('--node <name>', 'what concerns this node or NodeClaim, a declined expiration or repair too')
    .option('--nodepool <name>', 'what concerns nodes of this NodePool, a stopped rollout too')
    .option('--all', 'all of it')
    .option('--because <text>', 'why')
    .addOption(onBehalfOption());
}

/** `stowage reconsider`: allows rejected disruptions to be proposed again. */
export async function reconsider(args: readonly string[]): Promise<string> {
  const command = reconsiderCommand();
  command.parse(args, { from: 'user' });
  const { as: onBehalf, because, ...given } = command.opts<Options>();
  const scope = scopeOf(given);
  return withLive(liveSettings(givenFlags(command)), 'reconsider', async (live) => {
    const register = new TemporalClusterIdentityStore(live.client, live.cluster);
    const actor = await actorIn({ ...live, register }, rights.order, onBehalf);
    const order = { actor, ...(because === undefined ? {} : { reason: because }), ...scope };
    const objects = await undoInKubernetes(live.kube, order);
    return `${[...objects, await undoInDisrupt(live, order, objects.length > 0)].join('\n')}\n`;
  });
}

/** Exactly one scope. Throws `UsageError`. */
export function scopeOf({ node, nodepool, all }: Omit<Options, 'as'>): ReconsiderScope {
  const given: ReconsiderScope[] = [
    ...(node === undefined ? [] : [{ node }]),
    ...(nodepool === undefined ? [] : [{ nodePool: nodepool }]),
    ...(all === true ? [{ all }] : []),
  ];
  const [only, ...others] = given;
  if (only === undefined || others.length > 0) throw new UsageError('say what: --node NAME, --nodepool NAME or --all');
  return only;
}

async function undoInDisrupt(live: Live, order: ReconsiderOrder, isDone: boolean): Promise<string> {
  const workflowId = workflowIds.disrupt(live.cluster);
  const handle = live.client.workflow.getHandle(workflowId);
  try {
    const left = await ordered(live, workflowId, () => handle.executeUpdate(reconsiderUpdate, { args: [order] }));
    return left.length === 0 ? 'Nothing is refused any more.' : `Still refused:\n${refusedTable(left)}`;
  } catch (error) {
    if (isDone && error instanceof RefusedError && error.type === refusals.nothingRefused)
      return 'Nothing else was refused.';
    throw error;
  }
}

/**
 * Permanent refusals are annotations: for an expiration or a repair on its NodeClaim, for a rollout on its NodePool.
 */
export async function undoInKubernetes(kube: Kube, scope: ReconsiderOrder): Promise<string[]> {
  return [...(await undecline(kube, scope)), ...(await restartRollouts(kube, scope))];
}

type Kube = Pick<KubeClient, 'list' | 'patch'>;

/** Refusals on a NodeClaim, and the effect of withdrawing them. */
const declinable: readonly (readonly [annotation: string, then: string])[] = [
  [annotations.expirationDeclined, 'expires again'],
  [annotations.repairDeclined, 'may be repaired again'],
];

async function undecline(kube: Kube, scope: ReconsiderOrder): Promise<string[]> {
  const said: string[] = [];
  for (const { metadata, status } of await kube.list('NodeClaim')) {
    const { name = '' } = metadata;
    const isMeant =
      scope.all === true || scope.node === name || (scope.node !== undefined && scope.node === status?.nodeName);
    if (!isMeant) continue;
    for (const [annotation, then] of declinable) {
      if (lookUp(metadata.annotations, annotation) === undefined) continue;
      await kube.patch('NodeClaim', { name }, undoing(annotation, scope));
      said.push(`NodeClaim ${name} ${then}.`);
    }
  }
  return said;
}

async function restartRollouts(kube: Kube, scope: ReconsiderOrder): Promise<string[]> {
  const said: string[] = [];
  for (const { metadata } of await kube.list('NodePool')) {
    const { name = '' } = metadata;
    if (scope.all !== true && scope.nodePool !== name) continue;
    if (metadata.annotations?.[annotations.driftStopped] === undefined) continue;
    await kube.patch('NodePool', { name }, undoing(annotations.driftStopped, scope));
    said.push(`The rollout of NodePool ${name} may begin again.`);
  }
  return said;
}

/** Removes the refusal, and records who withdrew it, which an event reports. */
function undoing(refusal: string, { actor, reason }: ReconsiderOrder): object {
  const by = `by ${actor}${reason === undefined ? '' : ` (${reason})`}`;
  return { metadata: { annotations: { [refusal]: null, [annotations.reconsidered]: by } } };
}
