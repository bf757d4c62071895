import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { apart, near, spreads, topologyOf } from '../../test/builders/topology.js';
import type { HostPort } from '../../core/host-ports.js';
import { hostRoom, selectsOwn, type Host } from './host-rules.js';

const { zone, hostname } = labels;
const web = { labels: { app: 'web' } };
const host: Host = { attach: undefined, ports: [], host: 'node-a' };
const port = (hostPort: number): HostPort => ({ protocol: 'TCP', hostIP: '', hostPort });
const withPort = (hostPort: number) => ({ containers: [{ name: 'main', ports: [{ hostPort }] }] });

/** A pass with the first pod; `room` is how many of it a host may have, of four that are wanted. */
function worldOf(own: Pod, ...others: Pod[]) {
  const { topologyCounts, rulesOf, compiled } = topologyOf(
    packingInput({ pods: [own, ...others], storageClasses, persistentVolumeClaims: claims }),
  );
  const rules = rulesOf(own);
  const podClass = compiled.classes.all.find(({ pods }) => pods.includes(own))!;
  const { volumes } = compiled;
  const room = (on: Host = host, wanted = 4): number =>
    hostRoom(on, { podClass, rules, pod: own }, { topologyCounts, volumes }, wanted);
  return { counts: topologyCounts, rules, rulesOf, room };
}

const storageClasses = [
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
  } as const,
];
const claims = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { storageClassName: 'fast' },
  } as const,
];
const onClaim = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
const attaching = (limit: number): Host => ({
  ...host,
  attach: { limits: new Map([['ebs.csi.aws.com', limit]]), attached: new Map() },
});

test('host rules: a pod without rules by host name has as much room as is wanted', () => {
  const { room } = worldOf(pod('own', web));
  expect(room()).toBe(4);
  expect(room({ ...attaching(0), ports: [port(80)] })).toBe(4);
});

describe('room by a spread over hosts (topology/spread)', () => {
  test.each([
    { there: 0, room: 2 },
    { there: 1, room: 1 },
    { there: 2, room: 0 },
    { there: 3, room: 0 },
  ])('with $there pods on the host', ({ there, room }) => {
    const world = worldOf(pod('own', { ...web, ...spreads({ topologyKey: hostname, maxSkew: 2 }) }));
    world.counts.addSelected(world.rules.hostSpread[0]!, 'node-a', there);
    expect(world.room()).toBe(room);
    expect(world.room(host, 1)).toBe(Math.min(1, room));
  });

  test('for pods that it does not select is what its skew leaves to others', () => {
    const { counts, rules, room } = worldOf(pod('own', spreads({ topologyKey: hostname })));
    counts.addSelected(rules.hostSpread[0]!, 'node-a', 1);
    expect(room()).toBe(4);
    counts.addSelected(rules.hostSpread[0]!, 'node-a', 1);
    expect(room()).toBe(0);
  });
});

describe('room by anti-affinity by host name', () => {
  test('is one for pods that select themselves', () => {
    const { counts, rules, room } = worldOf(pod('own', { ...web, ...apart('web', hostname) }));
    expect(room()).toBe(1);
    counts.addSelected(rules.hostAntiAffinity[0]!, 'node-a', 1);
    expect(room()).toBe(0);
    expect(room({ ...host, host: 'node-b' })).toBe(1);
  });

  test('to other pods is unlimited, unless one is there', () => {
    const { counts, rules, room } = worldOf(pod('own', apart('web', hostname)));
    expect(room()).toBe(4);
    counts.addSelected(rules.hostAntiAffinity[0]!, 'node-a', 1);
    expect(room()).toBe(0);
  });

  test('is none for pods that a pod there has anti-affinity to (topology/running-anti-affinity)', () => {
    const shy = pod('shy', apart('web', hostname));
    const { counts, rulesOf, room } = worldOf(pod('own', web), shy);
    expect(room()).toBe(4);
    counts.addOwner(rulesOf(shy).hostAntiAffinity[0]!, 'node-a', 1);
    expect(room()).toBe(0);
    expect(room({ ...host, host: 'node-b' })).toBe(4);
  });

  test('is not reduced by other rules of a pod there', () => {
    const fond = pod('fond', near('web', hostname));
    const shyInZone = pod('shy', apart('web', zone));
    const { counts, rules, room } = worldOf(pod('own', web), fond, shyInZone);
    expect(rules.matched).toHaveLength(2);
    for (const group of rules.matched) counts.addOwner(group, 'node-a', 1);
    expect(room()).toBe(4);
  });
});

describe('room by host ports (scheduling/host-ports)', () => {
  test.each([
    { taken: [], room: 1 },
    { taken: [81], room: 1 },
    { taken: [81, 80], room: 0 },
  ])('beside $taken', ({ taken, room }) => {
    const world = worldOf(pod('own', withPort(80)));
    expect(world.room({ ...host, ports: taken.map(port) })).toBe(room);
  });
});

describe('room by volumes', () => {
  test.each([
    { limit: 1, room: 1 },
    { limit: 0, room: 0 },
  ])('for a pod with one, on a node that can attach $limit', ({ limit, room }) => {
    expect(worldOf(pod('own', onClaim)).room(attaching(limit))).toBe(room);
  });

  test('is unlimited on a node without an attach limit', () => {
    expect(worldOf(pod('own', onClaim)).room()).toBe(4);
  });

  test('is unlimited for volumes without a CSI driver', () => {
    const own = pod('own', { volumes: [{ name: 'scratch' }] });
    expect(worldOf(own).room(attaching(0))).toBe(4);
  });
});

test('a topology rule selects its own pods, or others', () => {
  const own = pod('own', { ...web, ...spreads({ topologyKey: hostname }), ...apart('db', hostname) });
  const { rules } = worldOf(own);
  expect(selectsOwn(rules, rules.hostSpread[0]!)).toBe(true);
  expect(selectsOwn(rules, rules.hostAntiAffinity[0]!)).toBe(false);
});
