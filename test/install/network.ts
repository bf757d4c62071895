import { createSocket } from 'node:dgram';
import { createServer, connect, type Socket } from 'node:net';
import type { KubeClient } from '../../kube/port.js';
import { run } from './run.js';

/** A bridge of this test's own: pods are on it, and reach the host by its address. */
export const bridge = { name: 'stowage-test0', address: '10.213.7.1', subnet: '10.213.7.0/24' } as const;
/** First address of the API server's `--service-cluster-ip-range`: Service `kubernetes`, whose address pods have in their environment. */
const kubernetesService = '10.100.0.1';

export interface Network {
  /** Makes a loopback port reachable for pods, under the bridge's address; gives its port there. */
  publish(port: number): Promise<number>;
  readonly stop: () => Promise<void>;
}

/**
 * What a cluster's network does for pods, as far as these tests need it: the Service of the API server, names of headless Services,
 * and what listens on the host's loopback. All of it listens on the bridge alone.
 */
export async function startNetwork(apiserverPort: number, kube: KubeClient): Promise<Network> {
  await removeBridge();
  // A bridge without a fixed MAC address takes one of its ports', and another when that pod ends: pods would talk to the old one.
  await run('ip', ['link', 'add', bridge.name, 'address', '0a:58:0a:d5:07:01', 'type', 'bridge']);
  await run('ip', ['address', 'add', `${bridge.address}/24`, 'dev', bridge.name]);
  await run('ip', ['address', 'add', `${kubernetesService}/32`, 'dev', bridge.name]);
  await run('ip', ['link', 'set', bridge.name, 'up']);
  const closing = [await forward(kubernetesService, 443, apiserverPort), await serveNames(kube)];
  return {
    publish: async (port) => {
      closing.push(await forward(bridge.address, port, port));
      return port;
    },
    stop: async () => {
      for (const close of closing) close();
      await removeBridge();
    },
  };
}

async function removeBridge(): Promise<void> {
  await run('ip', ['link', 'delete', bridge.name]).catch(() => undefined);
}

async function forward(host: string, port: number, to: number): Promise<() => void> {
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const onward = connect(to, '127.0.0.1');
    open.add(from).add(onward);
    for (const [one, other] of [
      [from, onward],
      [onward, from],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => open.delete(one));
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
}

/** Answers A queries for headless Services with the addresses of their pods, as a cluster's DNS does. */
async function serveNames(kube: KubeClient): Promise<() => void> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    void answer(kube, query).then((reply) => socket.send(reply, port, address));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(53, bridge.address, resolve);
  });
  return () => void socket.close();
}

const headerBytes = 12;
const typeA = 1;

async function answer(kube: KubeClient, query: Buffer): Promise<Buffer> {
  const { name, end } = nameAt(query);
  const isA = query.readUInt16BE(end) === typeA;
  const known = await addressesOf(kube, name).catch(() => undefined);
  const records = isA ? (known ?? []) : [];
  const header = Buffer.from(query.subarray(0, headerBytes));
  // A response, authoritative; 3 says that there is no such name.
  header.writeUInt16BE(0x8480 | (known === undefined ? 3 : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(headerBytes, end + 4), ...records.map(recordOf)]);
}

/** The name in the first question, and where it ends. */
function nameAt(query: Buffer): { name: string; end: number } {
  const parts: string[] = [];
  let at = headerBytes;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    parts.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: parts.join('.').toLowerCase(), end: at + 1 };
}

function recordOf(address: string): Buffer {
  // The question's name, type A, class IN, for five seconds, four bytes.
  return Buffer.from([0xc0, headerBytes, 0, typeA, 0, 1, 0, 0, 0, 5, 0, 4, ...address.split('.').map(Number)]);
}

/** Undefined where there is no such Service. */
async function addressesOf(kube: KubeClient, name: string): Promise<string[] | undefined> {
  const [service = '', namespace = '', ...rest] = name.split('.');
  if (rest.join('.') !== 'svc.cluster.local') return undefined;
  const found = await kube.get('Service', { namespace, name: service });
  const { selector } = (found?.spec ?? {}) as { selector?: Record<string, string> };
  if (selector === undefined) return undefined;
  const labelSelector = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  const pods = await kube.list('Pod', { namespace, labelSelector: labelSelector.join(',') });
  return pods.flatMap(({ status }) => (status as { podIP?: string } | undefined)?.podIP ?? []);
}
