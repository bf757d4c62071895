import { type Command, Option } from 'commander';
import { DurationError, parseDuration } from '../core/durations.js';
import { workflowIds } from '../core/ids.js';
import {
  type Pause,
  type PauseScope,
  pauseSignal,
  pauseUpdate,
  resumeSignal,
  resumeUpdate,
} from '../workflows/messages.js';
import { authorise, onBehalfOption, rights } from './authorise.js';
import { disruptionReasons } from '../disruption/command.js';
import { UsageError } from './exit.js';
import { pauseLine, pauseTable } from './output/people-table.js';
import { settingsCommand, steeringSettings } from './settings-command.js';
import { ordered, withTemporal } from './temporal.js';
import { createKubeClient } from '../kube/client.js';
import type { KubeClient } from '../kube/port.js';
import type { Settings } from '../process/settings.js';

type Reader = Pick<KubeClient, 'get'> & { close(): void };

/**
 * Throws `UsageError` if no node has that name, since an order for it would have no effect. If the API server does not
 * respond or denies access, the order proceeds.
 */
export async function checkNode(
  settings: Pick<Settings, 'KUBECONFIG'>,
  name: string,
  connect: (settings: Pick<Settings, 'KUBECONFIG'>) => Reader = connected,
): Promise<void> {
  let isThere = true;
  let kube: Reader | undefined;
  try {
    kube = connect(settings);
    isThere = (await kube.get('Node', { name })) !== undefined;
  } catch {
    // Unknown.
  } finally {
    kube?.close();
  }
  if (!isThere) throw new UsageError(`there is no node "${name}"`);
}

const connected = ({ KUBECONFIG: kubeconfig }: Pick<Settings, 'KUBECONFIG'>): Reader =>
  createKubeClient({
    userAgent: 'stowage-order',
    requestTimeoutMs: 5000,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });

interface ScopeOptions {
  readonly cluster?: boolean;
  readonly nodepool?: string;
  readonly reason?: (typeof disruptionReasons)[number];
  readonly node?: string;
  readonly because?: string;
  readonly for?: string;
  readonly as?: string;
  readonly wait: boolean;
}

export function pauseCommand(): Command {
  return scoped(settingsCommand('pause', { only: steeringSettings }))
    .requiredOption('--because <text>', 'why, for people who find it paused')
    .option('--for <duration>', 'ends on its own after this time, such as 2h; without it, only when resumed');
}

export function resumeCommand(): Command {
  return scoped(settingsCommand('resume', { only: steeringSettings })).option('--because <text>', 'why');
}

/** `stowage pause`: nothing in the scope is disrupted voluntarily until it is resumed, or its time is over. */
export async function pause(args: readonly string[]): Promise<string> {
  const command = pauseCommand();
  command.parse(args, { from: 'user' });
  const options = command.opts<ScopeOptions>();
  const scope = pauseScopeOf(options);
  const ttl = durationOf(options.for);
  return withTemporal(command, async (target) => {
    const actor = await authorise(target, rights.pause, options.as);
    if (options.node !== undefined) await checkNode(target.settings, options.node);
    const order = { scope, reason: options.because ?? '', actor, ...(ttl === undefined ? {} : { ttl }) };
    const workflowId = workflowIds.disrupt(target.cluster);
    const handle = target.client.workflow.getHandle(workflowId);
    if (!options.wait) {
      await ordered(target, workflowId, () => handle.signal(pauseSignal, order));
      return `The pause was sent to ${workflowId}.\n`;
    }
    const pauses = await ordered(target, workflowId, () => handle.executeUpdate(pauseUpdate, { args: [order] }));
    return `Paused ${named(pauses, scope)}\n\n${pauseTable(pauses)}\n`;
  });
}

/** `stowage resume`: ends a pause with exactly this scope. */
export async function resume(args: readonly string[]): Promise<string> {
  const command = resumeCommand();
  command.parse(args, { from: 'user' });
  const options = command.opts<ScopeOptions>();
  const scope = pauseScopeOf(options);
  const reason = options.because;
  return withTemporal(command, async (target) => {
    const actor = await authorise(target, rights.resume, options.as);
    const order = { scope, actor, ...(reason === undefined ? {} : { reason }) };
    const workflowId = workflowIds.disrupt(target.cluster);
    const handle = target.client.workflow.getHandle(workflowId);
    if (!options.wait) {
      await ordered(target, workflowId, () => handle.signal(resumeSignal, order));
      return `The order to resume was sent to ${workflowId}.\n`;
    }
    const left = await ordered(target, workflowId, () => handle.executeUpdate(resumeUpdate, { args: [order] }));
    const others = left.length === 0 ? 'Nothing is paused.' : `Still paused:\n${pauseTable(left)}`;
    return `Resumed.\n${others}\n`;
  });
}

function scoped(command: Command): Command {
  return command
    .option('--cluster', 'the whole cluster')
    .option('--nodepool <name>', 'the nodes of a NodePool')
    .option('--node <name>', 'one node')
    .addOption(
      new Option('--reason <reason>', 'one reason, everywhere or within the NodePool').choices(disruptionReasons),
    )
    .addOption(onBehalfOption())
    .option('--no-wait', 'do not wait for the answer: the order takes effect once a worker runs');
}

/** Exactly one scope; for a pool optionally with a reason. Throws `UsageError`. */
export function pauseScopeOf({ cluster, nodepool, node, reason }: Omit<ScopeOptions, 'as' | 'wait'>): PauseScope {
  const given: PauseScope[] = [
    ...(cluster === true ? [{ kind: 'cluster' } as const] : []),
    ...(nodepool === undefined
      ? []
      : [{ kind: 'nodePool', name: nodepool, ...(reason === undefined ? {} : { reason }) } as const]),
    ...(node === undefined ? [] : [{ kind: 'node', name: node } as const]),
    ...(reason === undefined || nodepool !== undefined ? [] : [{ kind: 'reason', name: reason } as const]),
  ];
  if (given.length > 1) {
    throw new UsageError('give one of --cluster, --nodepool, --node and --reason; a reason can only narrow a NodePool');
  }
  const [scope] = given;
  if (scope !== undefined) return scope;
  throw new UsageError('say what: --cluster, --nodepool NAME, --node NAME or --reason REASON');
}

function durationOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    if (parseDuration(text, '--for') > 0) return text;
  } catch (error) {
    if (error instanceof DurationError) throw new UsageError(error.message);
    throw error;
  }
  throw new UsageError(`--for: "${text}" is not allowed: give more than 0s, such as 2h`);
}

function named(pauses: readonly Pause[], scope: PauseScope): string {
  const own = pauses.find((pause) => JSON.stringify(order(pause.scope)) === JSON.stringify(order(scope)));
  return own === undefined ? 'it' : pauseLine(own);
}

const order = ({ kind, name, reason }: PauseScope): readonly unknown[] => [kind, name, reason];
