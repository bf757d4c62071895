import { Argument, type Command, Option } from 'commander';
import { UsageError } from './exit.js';
import { temporalEngine } from './history/engine.js';
import { lengthText } from './history/retention.js';
import { type Life, lifeOf, type OpenWorkflow } from './history/life.js';
import { mostForNodeName, readNode, type Sources } from './history/read-node.js';
import { liveSettings, readTimeoutMs, withLive } from './live.js';
import { givenFlags, settingsCommand, steeringSettings } from './settings-command.js';
import { age } from './output/status-table.js';
import { renderTable } from './output/table.js';
import { onOneLine } from '../core/text.js';
import { timeText } from '../core/time.js';

/** In a large cluster, hundreds of histories are searched for the name of a Node. */
const timeoutMs = 120_000;

export function historyCommand(): Command {
  return settingsCommand('history', { only: steeringSettings })
    .addArgument(new Argument('<kind>', 'what it is').choices(['node']))
    .argument('<name>', 'name of a Node or NodeClaim, or the id of an instance')
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['table', 'json']).default('table'));
}

/** `stowage history node NAME`: a node's whole life across its workflows. */
export async function history(args: readonly string[]): Promise<string> {
  const command = historyCommand();
  command.parse(args, { from: 'user' });
  const { output, ...flags } = givenFlags(command);
  const [, name = ''] = command.args;
  const life = await withLive(
    liveSettings(flags),
    'history',
    async ({ kube, client, cluster }) =>
      client.connection.withDeadline(Date.now() + timeoutMs, () =>
        knownLife({ engine: temporalEngine(client), kube, cluster, now: Date.now() }, name),
      ),
    readTimeoutMs,
  );
  return output === 'json' ? `${JSON.stringify(life, null, 1)}\n` : lifeText(life);
}

/** The life of a node. Throws `UsageError` if the name is unknown. */
export async function knownLife(sources: Sources, name: string): Promise<ReturnType<typeof lifeOf>> {
  const records = await readNode(sources, name);
  if (records !== undefined) return lifeOf(records);
  const retentionMs = await sources.engine.retentionMs().catch(() => undefined);
  const kept = retentionMs === undefined ? '' : ` (a workflow is kept for ${lengthText(retentionMs)} after its end)`;
  throw new UsageError(
    `nothing is known of "${name}" in cluster ${sources.cluster}: no NodeClaim in Kubernetes has that name, that Node or that ` +
      `instance, and no workflow in Temporal is about such a NodeClaim or instance, nor any of the newest ${mostForNodeName} launches and terminations about such a Node${kept}`,
  );
}

/** A node's life as text: one line per step, with the time since the previous one. */
export function lifeText(life: Life): string {
  const { nodeClaim, nodePool, node, instance, lines, open, notes } = onOneLine(life);
  const named = [
    `NodeClaim ${nodeClaim}`,
    ...(nodePool === '' ? [] : [`NodePool ${nodePool}`]),
    ...(node === '' ? [] : [`Node ${node}`]),
    ...(instance === '' ? [] : [`instance ${instance}`]),
  ];
  const rows = lines.map(({ at, afterMs, workflowId = '', what }) => [
    timeText(at),
    afterMs === undefined ? '' : `+${age(afterMs)}`,
    workflowId,
    what,
  ]);
  const sections = [
    named.join(', '),
    rows.length === 0
      ? 'Temporal has kept nothing about it.'
      : renderTable(['TIME', 'AFTER', 'WORKFLOW', 'WHAT'], rows),
    open.length === 0 ? '' : `Under way\n${open.map(openLine).join('\n')}`,
    notes.join('\n'),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function openLine({ workflowId, phase, since, blockedBy }: OpenWorkflow): string {
  const blocked = blockedBy === '' ? '' : `, blocked by ${blockedBy}`;
  return `  ${workflowId}: ${phase} since ${timeText(since)}${blocked}`;
}
