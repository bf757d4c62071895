import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Starts a server on a port of loopback that is free; gives its URL, without a slash at the end. It closes no connection by itself: on a crowded machine a client
 * may use one that the server closes at that moment.
 */
export async function listenLocally(server: Server): Promise<string> {
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
