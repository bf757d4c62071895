import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { listenLocally } from '../../../test/builders/local-server.js';
import { Moto } from './moto.js';

const ours = '123456789012';
const other = '150000000001';
const roleOf = (account: string): string => `arn:aws:iam::${account}:role/node`;

let close: () => void = () => undefined;
afterEach(() => close());

/** A moto that answers each request with its body, and keeps it. */
async function echo(): Promise<{ endpoint: string; heard: { headers: IncomingMessage['headers']; body: string }[] }> {
  const heard: { headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      heard.push({ headers: request.headers, body });
      response.end(body);
    });
  });
  close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { endpoint: await listenLocally(server), heard };
}

const message = { method: 'POST', path: '/', headers: { 'x-amz-target': 'a' }, body: Buffer.from(roleOf(ours)) };

describe('a moto that several local clouds share', () => {
  test("sees each cloud's own account, whose callers see the common account", async () => {
    const { endpoint, heard } = await echo();

    const reply = await new Moto(endpoint, 'us-west-2', other).elsewhere('us-east-1').send(message);

    expect(heard).toMatchObject([
      { body: roleOf(other), headers: { 'x-moto-account-id': other, 'x-amz-target': 'a' } },
    ]);
    expect(reply).toMatchObject({ status: 200 });
    expect(reply.body.toString()).toBe(roleOf(ours));
  });

  test('passes requests and answers unchanged for a single cloud', async () => {
    const { endpoint, heard } = await echo();

    const reply = await new Moto(endpoint, 'us-west-2').send(message);

    expect(heard).toMatchObject([{ body: roleOf(ours) }]);
    expect(heard[0]!.headers).not.toHaveProperty('x-moto-account-id');
    expect(reply.body.toString()).toBe(roleOf(ours));
  });
});
