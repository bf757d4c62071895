import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { UsageError } from './exit.js';
import { mcp, mcpServer, type RunCommand } from './mcp.js';

const ran: string[][] = [];
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  ran.length = 0;
  for (const close of closing.splice(0)) await close();
});

async function connected(allowOrders = false, run?: RunCommand): Promise<Client> {
  const server = mcpServer(
    run ??
      ((name, args) => {
        ran.push([name, ...args]);
        return Promise.resolve('{}\n');
      }),
    { allowOrders },
  );
  const client = new Client({ name: 'a\u202Egent', version: '1' });
  const [own, other] = InMemoryTransport.createLinkedPair();
  await server.connect(other);
  await client.connect(own);
  closing.push(() => client.close());
  return client;
}

describe('stowage mcp (surfaces/mcp)', () => {
  test('has tools that only read, and orders where they are allowed', async () => {
    const { tools } = await (await connected()).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['status', 'why', 'plan', 'history', 'report']);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    const all = await (await connected(true)).listTools();
    expect(all.tools.slice(5).map(({ name }) => name)).toEqual([
      ...['approve', 'reject', 'abort', 'expedite', 'retry', 'hold', 'rollback', 'pause', 'resume'],
    ]);
    const refused = await (await connected()).callTool({ name: 'approve', arguments: { subject: 'a', because: 'b' } });
    expect(refused.isError).toBe(true);
    expect(ran).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string[]]>([
    ['status', {}, ['--output=json']],
    ['why', { subject: 'pod/web', namespace: 'shop' }, ['--output=json', '--namespace=shop', '--', 'pod/web']],
    ['plan', {}, ['--output=json']],
    ['history', { node: 'n' }, ['--output=json', '--', 'node', 'n']],
    ['report', { since: '7h' }, ['--output=json', '--since=7h']],
    ['approve', { subject: 'n', because: 'r' }, ['--because=r', '--as=agent a\\u202egent', '--', 'n']],
    [
      'approve',
      { subject: '--force', because: '--force' },
      ['--because=--force', '--as=agent a\\u202egent', '--', '--force'],
    ],
    [
      'expedite',
      { subject: 'n', because: 'r', force: true },
      ['--because=r', '--force', '--as=agent a\\u202egent', '--', 'n'],
    ],
    ['hold', { subject: 'n', because: 'r', off: true }, ['--because=r', '--off', '--as=agent a\\u202egent', '--', 'n']],
    [
      'pause',
      { nodepool: 'p', because: 'r', for: '2h' },
      ['--nodepool=p', '--because=r', '--for=2h', '--as=agent a\\u202egent'],
    ],
    ['resume', { cluster: true, because: 'r' }, ['--cluster', '--because=r', '--as=agent a\\u202egent']],
  ])('%s %j is the command of that name, and no value is read as an option', async (name, given, args) => {
    const answer = await (await connected(true)).callTool({ name, arguments: given });
    expect(answer).toMatchObject({ content: [{ type: 'text', text: '{}\n' }] });
    expect(ran).toEqual([[name, ...args]]);
  });

  test('a refusal is an answer that says it', async () => {
    const client = await connected(true, () => Promise.reject(new UsageError('ann may not create approvals')));
    expect(await client.callTool({ name: 'approve', arguments: { subject: 'n', because: 'r' } })).toMatchObject({
      isError: true,
      content: [{ text: 'ann may not create approvals' }],
    });
  });

  test('speaks over standard input and output with the settings that it was given, until the input ends', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const run: RunCommand = (name, args) => {
      ran.push([name, ...args]);
      return Promise.resolve('[]');
    };
    const ended = mcp(['--cluster-name', 'prod'], run, { input, output });
    const send = (message: object): boolean => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'c', version: '1' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'status', arguments: {} } });
    let said = '';
    for await (const part of output) {
      said += String(part);
      if (said.includes('"id":2')) break;
    }
    input.end();
    expect(await ended).toBe('');
    expect(ran).toEqual([['status', '--cluster-name=prod', '--output=json']]);
  });
});
