import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Below what operating systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere), which come and go
 * between the choice of a port and its use.
 */
const range = { first: 10_000, last: 32_000 };
const attempts = 50;

/**
 * Loopback ports that nobody listens on, all different: a row from a place at random, so that two stacks which start at
 * the same moment do not choose the same.
 */
export async function freePorts(count: number): Promise<number[]> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const first = randomInt(range.first, range.last - count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (await areFree(ports)) return ports;
  }
  throw new Error(`No ${count} loopback ports in a row are free between ${range.first} and ${range.last}.`);
}

async function areFree(ports: readonly number[]): Promise<boolean> {
  const servers = await Promise.all(ports.map(listen));
  await Promise.all(servers.filter((server) => server !== undefined).map(close));
  return servers.every((server) => server !== undefined);
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ host: '127.0.0.1', port }, () => {
      resolve(server);
    });
  });
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
