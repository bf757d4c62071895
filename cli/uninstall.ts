import type { Command } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { leaseHolder } from '../kube/leases.js';
import { TemporalClusterIdentityStore } from '../process/cluster-identity.js';
import { isOwnCluster } from './authorise.js';
import { UsageError } from './exit.js';
import { liveSettings, withLive, type Live } from './live.js';
import { counted } from '../core/text.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { releaseObjects, stopDeployments, type Released } from './uninstall/cluster.js';
import { terminateWorkflows } from './uninstall/engine.js';

const stopMs = 90_000;
const leaseMs = 60_000;
const pollMs = 1000;
const needed = /^(CLUSTER_NAME|KUBECONFIG|TEMPORAL_\w+|LEADER_ELECTION_\w+)$/;

export function uninstallCommand(): Command {
  return settingsCommand('uninstall', { only: needed })
    .option('--stop <deployments>', 'Deployments to scale to none first, as NAMESPACE/NAME, separated by commas')
    .addHelpText('after', '\nNodes, NodeClaims, NodePools, node classes and their definitions stay.');
}

/**
 * `stowage uninstall`: removes from Temporal and the cluster what needs a running Stowage, and lists what stays.
 * Refused while an operator leads, which would create it again. Idempotent.
 */
export async function uninstall(args: readonly string[]): Promise<string> {
  const command = uninstallCommand();
  command.parse(args, { from: 'user' });
  const { stop, ...flags } = givenFlags(command);
  const settings = liveSettings(flags);
  return withLive(settings, 'uninstall', async (live) => {
    const { kube, client, cluster } = live;
    const register = new TemporalClusterIdentityStore(client, cluster);
    // The name may be recorded for another cluster in this Temporal namespace, which must not be changed.
    await isOwnCluster(kube, { cluster, register });
    await stopDeployments(
      kube,
      (stop ?? '').split(',').filter((each) => each !== ''),
      stopMs,
    );
    const { LEADER_ELECTION_NAMESPACE: namespace, LEADER_ELECTION_NAME: name } = settings;
    // A stopped operator may leave a lease that has to expire.
    await untilNobodyLeads(kube, { namespace, name }, stop === undefined ? 0 : leaseMs);
    const workflows = await terminateWorkflows(client, cluster);
    const released = await releaseObjects(kube);
    await kube.delete('Lease', { namespace, name });
    // Last: as long as it exists, the uninstallation is incomplete.
    await register.remove();
    return summary({ cluster, workflows, ...released });
  });
}

async function untilNobodyLeads(
  kube: Live['kube'],
  lease: { readonly namespace: string; readonly name: string },
  withinMs: number,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const holder = await leaseHolder({ client: kube, ...lease });
    if (holder === undefined) return;
    if (Date.now() >= deadline) {
      throw new UsageError(
        `operator ${holder} holds the lease ${lease.namespace}/${lease.name}: stop it first (--stop NAMESPACE/NAME)`,
      );
    }
    await delay(pollMs);
  }
}

type Done = Released & { readonly cluster: string; readonly workflows: number };

function summary({ cluster, workflows, released, kept, nodes }: Done): string {
  const objects = Object.entries(released).map(([kind, count]) => counted(count, kind));
  const marks = objects.length === 0 ? 'there were none' : objects.join(', ');
  return [
    `Stowage is gone from ${cluster}.`,
    `Ended in Temporal: ${counted(workflows, 'workflow')}, 1 Schedule.`,
    `Taints and finalizers taken off: ${marks}.`,
    ...(kept.length === 0 ? [] : ['', 'Left to do by hand, or by Stowage or Karpenter once one is installed again:']),
    ...kept.map((line) => `  ${line}`),
    '',
    `Left on purpose: ${counted(nodes.length, 'node')} with NodeClaims and instances${nodes.length === 0 ? '' : ` (${someOf(nodes)})`},`,
    'NodePools, node classes, DisruptionPolicies and DisruptionPauses, the CustomResourceDefinitions, launch templates and instance profiles,',
    'and the search attributes of the Temporal namespace. A node ends with its instance: drain it, delete its NodeClaim and terminate that.',
    '',
  ].join('\n');
}

const someOf = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
