import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TcpProxy } from './tcp-proxy.js';

let server: Server;
let proxy: TcpProxy;
let heard: string;

beforeEach(async () => {
  heard = '';
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => (heard += data.toString())).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await TcpProxy.start((server.address() as AddressInfo).port);
});

afterEach(async () => {
  await proxy.stop();
  server.close();
});

async function open(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function echoed(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [data] = (await once(socket, 'data')) as [Buffer];
  return data.toString();
}

describe('the simulated network', () => {
  test('carries data both ways, slowly too', async () => {
    const socket = await open();
    expect(await echoed(socket, 'one')).toBe('one');
    proxy.become({ kind: 'slow', delayMs: 5 });
    expect(await echoed(socket, 'two')).toBe('two');
    socket.destroy();
  });

  test('keeps stranded connections and carries data only on new ones', async () => {
    const old = await open();
    expect(await echoed(old, 'one')).toBe('one');

    proxy.strand();
    old.write('lost');
    const fresh = await open();

    expect(await echoed(fresh, 'two')).toBe('two');
    expect(heard).toBe('onetwo');
    expect(old.destroyed).toBe(false);
    old.destroy();
    fresh.destroy();
  });

  test('when cut ends connections and accepts none, until it is restored', async () => {
    const socket = await open();
    await echoed(socket, 'one');
    proxy.become({ kind: 'cut' });
    await once(socket, 'close');
    const refused = await open();
    await once(refused, 'close');
    proxy.become({ kind: 'fair' });
    const again = await open();
    expect(await echoed(again, 'two')).toBe('two');
    again.destroy();
  });

  test('when silent carries nothing, and everything afterwards', async () => {
    const socket = await open();
    await echoed(socket, 'one');
    proxy.become({ kind: 'silent' });
    const answer = echoed(socket, 'two');
    // What is said elsewhere arrives nowhere either.
    const other = await open();
    other.write('three');
    expect(heard).toBe('one');
    proxy.become({ kind: 'fair' });
    expect(await answer).toBe('two');
    for (const each of [socket, other]) each.destroy();
  });

  test('ends one side when the other has ended', async () => {
    const socket = (await open()).resume();
    socket.end('last');
    await once(socket, 'end');
    expect(heard).toBe('last');
  });
});
