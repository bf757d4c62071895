import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { messageOf } from '../core/error-message.js';
import { buildInfo } from '../process/gauges/build-info.js';
import { printable } from '../core/text.js';
import type { CommandName } from './command-texts.js';
import type { OrderName } from './order.js';
import { givenFlags, settingsCommand, steeringSettings } from './settings-command.js';

/** Runs a command of `stowage` with these arguments, and returns what it prints. */
export type RunCommand = (name: CommandName, args: readonly string[]) => Promise<string>;

export function mcpCommand(): Command {
  return settingsCommand('mcp', { only: steeringSettings }).option(
    '--allow-orders',
    'also give orders: with the rights of your user, recorded as made by the agent',
  );
}

/** `stowage mcp`: the Model Context Protocol over standard input and output, until the input ends. */
export async function mcp(
  args: readonly string[],
  run: RunCommand,
  { input, output }: { input: Readable; output: Writable } = { input: process.stdin, output: process.stdout },
): Promise<string> {
  const command = mcpCommand();
  command.parse(args, { from: 'user' });
  const { allowOrders = false } = command.opts<{ allowOrders?: boolean }>();
  const settings = Object.entries(givenFlags(command)).map(([name, value]) => `--${name}=${value}`);
  const server = mcpServer((name, own) => run(name, [...settings, ...own]), { allowOrders });
  const ended = new Promise((resolve) => input.once('end', resolve));
  await server.connect(new StdioServerTransport(input, output));
  await ended;
  await server.close();
  return '';
}

/** Values are never read as options: an agent may give any text. */
const option = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`--${name}=${value}`];
const positional = (...values: readonly string[]): string[] => ['--', ...values];

const text = z.string().min(1).max(500);

/** The tools: what `stowage` prints as JSON, and with `allowOrders` its orders. */
export function mcpServer(run: RunCommand, { allowOrders }: { readonly allowOrders: boolean }): McpServer {
  const server = new McpServer({ name: 'stowage', version: buildInfo().version });
  const answer = async (name: CommandName, args: readonly string[]) => {
    try {
      return { content: [{ type: 'text' as const, text: await run(name, args) }] };
    } catch (error) {
      return { content: [{ type: 'text' as const, text: messageOf(error) }], isError: true };
    }
  };
  const json = ['--output=json'];
  const annotations = { readOnlyHint: true, openWorldHint: false };
  const read = (
    name: CommandName,
    description: string,
    inputSchema: Record<string, z.ZodType<string | undefined>>,
    argsOf: (given: Readonly<Record<string, string | undefined>>) => string[] = () => [],
  ): void => {
    const schema = z.object(inputSchema);
    server.registerTool(name, { description, inputSchema: schema, annotations }, (given) =>
      answer(name, [...json, ...argsOf(given)]),
    );
  };
  read('status', 'NodePools, nodes, costs, pods that wait and why, work under way, questions for people', {});
  read(
    'why',
    'Why a pod, node, NodeClaim or NodePool is as it is, and what blocks its disruption',
    {
      subject: text.describe('pod/NAME, node/NAME, nodeclaim/NAME or nodepool/NAME'),
      namespace: text.optional().describe('of the pod; default is default'),
    },
    ({ subject, namespace }) => [...option('namespace', namespace), ...positional(subject ?? '')],
  );
  read('plan', 'Which nodes would be launched for the pending pods now; launches nothing', {});
  read(
    'history',
    'The whole life of a node over its workflows, with who ordered what',
    { node: text.describe('name of a Node or NodeClaim, or the id of an instance') },
    ({ node }) => positional('node', node ?? ''),
  );
  read(
    'report',
    'What was done lately, what it saves, what was forced and what people ordered',
    { since: text.default('24h').describe('how far back, such as 7h') },
    ({ since }) => option('since', since),
  );
  if (allowOrders) registerOrders(server, answer);
  return server;
}

type Answer = (
  name: CommandName,
  args: readonly string[],
) => Promise<{ content: { type: 'text'; text: string }[]; isError?: boolean }>;

const orderTexts = {
  approve: 'Approves a disruption that waits for approval',
  reject: 'Answers no to a disruption that waits for approval',
  abort: 'Ends a disruption that can still be taken back',
  expedite: 'Ends a wait; with force, the protection of the pods of a drain',
  retry: 'Tries again at once what failed or waits',
  hold: 'Stops before the next irreversible step; with off, lets it continue',
  rollback: 'Ends the rollout of a NodePool, and restores its last good template',
} as const satisfies Readonly<Record<OrderName, string>>;

const scope = {
  cluster: z.literal(true).optional().describe('the whole cluster'),
  nodepool: text.optional().describe('the nodes of a NodePool'),
  node: text.optional().describe('one node'),
};
const because = text.describe('why, for people');

function registerOrders(server: McpServer, answer: Answer): void {
  const annotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };
  /** Recorded beside the user whose rights are asked for. */
  const agent = (): string[] =>
    option('as', `agent ${printable(server.server.getClientVersion()?.name ?? 'unknown').slice(0, 100)}`);
  for (const [name, description] of Object.entries(orderTexts) as [OrderName, string][]) {
    const inputSchema = z.object({
      subject: text.describe('the workflow, node or NodePool, as in status'),
      because,
      ...(name === 'hold' ? { off: z.boolean().optional() } : {}),
      ...(name === 'expedite' || name === 'approve'
        ? {
            force: z
              .boolean()
              .optional()
              .describe('overrides the protection of pods that a refusal named: ask a person before'),
          }
        : {}),
    });
    server.registerTool(name, { description, inputSchema, annotations }, (given) => {
      const { subject, off, force } = given as { subject: string; off?: boolean; force?: boolean };
      const flags = [...(off === true ? ['--off'] : []), ...(force === true ? ['--force'] : [])];
      return answer(name, [...option('because', given.because), ...flags, ...agent(), ...positional(subject)]);
    });
  }
  const scoped = ({ cluster, nodepool, node }: z.output<z.ZodObject<typeof scope>>): string[] => [
    ...(cluster === true ? ['--cluster'] : []),
    ...option('nodepool', nodepool),
    ...option('node', node),
  ];
  server.registerTool(
    'pause',
    {
      description: 'Stops voluntary disruption in a scope',
      inputSchema: z.object({ ...scope, because, for: text.optional().describe('a duration, such as 2h') }),
      annotations: { ...annotations, destructiveHint: false },
    },
    (given) =>
      answer('pause', [...scoped(given), ...option('because', given.because), ...option('for', given.for), ...agent()]),
  );
  server.registerTool(
    'resume',
    { description: 'Ends the pause of a scope', inputSchema: z.object({ ...scope, because }), annotations },
    (given) => answer('resume', [...scoped(given), ...option('because', given.because), ...agent()]),
  );
}
