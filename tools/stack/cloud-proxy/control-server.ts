import { AwsError, type Reply } from './aws-error.js';
import type { Cloud } from './cloud.js';
import type { Fault } from './faults.js';
import type { Instance, InstanceHealth, InstanceState } from './instances.js';
import { onDemandPrice } from './prices.js';
import type { PoolRule } from './pools.js';
import { interruptSpot, reclaim } from './reclaim.js';
import type { Recording } from './recording.js';
import type { SettingsPatch } from './settings.js';
import type { SpotOverride } from './spot-market.js';
import { textOf } from './xml.js';
import { messageOf } from '../../../core/error-message.js';

/** An instance as the control API shows it. */
export interface InstanceView {
  id: string;
  state: InstanceState;
  instanceType: string;
  zone: string;
  lifecycle: 'spot' | 'on-demand';
  subnetId: string;
  imageId: string;
  privateDnsName: string;
  privateIp: string;
  ipv6Address?: string;
  tags: Record<string, string>;
  clientToken?: string;
  securityGroupIds: string[];
  instanceProfileArn?: string;
  blockDevices: { device: string; sizeGiB: number }[];
  /** Its interfaces for EFA. */
  efaInterfaces: number;
  launchedAt: number;
  revision: number;
}

const view = (instance: Instance): InstanceView => {
  const { item, facts } = instance;
  const ipv6Address = textOf(item, 'ipv6Address');
  return {
    id: instance.id,
    state: instance.state,
    instanceType: textOf(item, 'instanceType') ?? '',
    zone: textOf(item, 'placement', 'availabilityZone') ?? '',
    lifecycle: facts.lifecycle ?? 'on-demand',
    subnetId: textOf(item, 'subnetId') ?? '',
    imageId: textOf(item, 'imageId') ?? '',
    privateDnsName: textOf(item, 'privateDnsName') ?? '',
    privateIp: textOf(item, 'privateIpAddress') ?? '',
    ...(ipv6Address !== undefined && { ipv6Address }),
    tags: Object.fromEntries(instance.tags),
    ...(facts.clientToken !== undefined && { clientToken: facts.clientToken }),
    securityGroupIds: (facts.securityGroups ?? []).map(({ id }) => id),
    ...(facts.instanceProfileArn !== undefined && { instanceProfileArn: facts.instanceProfileArn }),
    blockDevices: facts.blockDevices ?? [],
    efaInterfaces: (facts.interfaces ?? []).filter(({ type }) => type.startsWith('efa')).length,
    launchedAt: instance.launchedAt,
    revision: instance.revision,
  };
};

interface ControlCall {
  cloud: Cloud;
  query: URLSearchParams;
  input: unknown;
  signal: AbortSignal;
}

type ControlHandler = (call: ControlCall) => unknown;

const optional = (query: URLSearchParams, name: string): string | undefined => query.get(name) ?? undefined;

/** Scripts see an instance before EC2 describes it. */
const instanceOf = (cloud: Cloud, id: string): Instance => cloud.instances.get(id) ?? cloud.instances.require([id])[0]!;

const handlers: Readonly<Record<string, ControlHandler>> = {
  'GET health': () => ({ ok: true }),
  'GET settings': ({ cloud }) => cloud.settings,
  'PATCH settings': ({ cloud, input }) => cloud.configure(input as SettingsPatch),
  'POST reset': ({ cloud }) => cloud.resetChaos(),
  'GET requests': ({ cloud, query }) =>
    cloud.log.list({
      service: optional(query, 'service'),
      action: optional(query, 'action'),
      after: Number(query.get('after') ?? 0),
    }),
  'DELETE requests': ({ cloud }) => cloud.log.clear(),
  'GET permissions': ({ cloud: { authority } }) => ({
    denials: authority.denials,
    used: Object.fromEntries([...authority.used].map(([arn, counts]) => [arn, Object.fromEntries(counts)])),
  }),
  'GET faults': ({ cloud }) => cloud.faults.list(),
  'POST faults': ({ cloud, input }) => ({ id: cloud.faults.add(input as Fault) }),
  'DELETE faults': ({ cloud }) => cloud.faults.clear(),
  'GET pools': ({ cloud }) => cloud.pools.rules,
  'PUT pools': ({ cloud, input }) => cloud.pools.replace(input as PoolRule[]),
  'GET prices': async ({ cloud, query }) => {
    const type = query.get('instanceType') ?? '';
    const machine = await cloud.catalogue.machine(type);
    if (machine === undefined) throw new AwsError('InvalidInstanceType', `There is no instance type ${type}.`, 404);
    const zones = [...((await cloud.catalogue.zones()).get(type) ?? [])].sort();
    return {
      onDemand: onDemandPrice(machine, cloud.region),
      spot: Object.fromEntries(zones.map((zone) => [zone, cloud.market.price(machine, zone)])),
    };
  },
  'POST prices': async ({ cloud, input }) => ({
    changed: cloud.market.set(input as SpotOverride, await cloud.catalogue.pools()),
  }),
  'GET instances': async ({ cloud, query, signal }) => {
    const since = Number(query.get('since') ?? 0);
    const wait = Number(query.get('waitMs') ?? 0);
    if (wait > 0 && cloud.instances.revision <= since && !signal.aborted) await cloud.instances.changed(wait);
    return {
      revision: cloud.instances.revision,
      settings: cloud.settings.joiner,
      instances: cloud.instances.changedSince(since).map(view),
    };
  },
  'DELETE instances': ({ cloud }) => cloud.instances.forgetEnded(),
  'POST instances/interrupt': ({ cloud, input }) => {
    const { id, delayMs = 120_000, terminate = true } = input as { id: string; delayMs?: number; terminate?: boolean };
    instanceOf(cloud, id);
    interruptSpot(cloud, id, terminate ? delayMs : undefined);
  },
  'POST instances/reclaim': async ({ cloud, input }) => {
    for (const id of (input as { ids: string[] }).ids) await reclaim(cloud, id);
  },
  'POST instances/rebalance': ({ cloud, input }) => {
    cloud.events.rebalance((input as { id: string }).id);
  },
  'POST instances/state': ({ cloud, input }) => {
    const { id, state } = input as { id: string; state: InstanceState };
    cloud.instances.force(instanceOf(cloud, id), state);
  },
  'POST instances/health': ({ cloud, input }) => {
    const { id, ...health } = input as InstanceHealth & { id: string };
    cloud.instances.setHealth(instanceOf(cloud, id), health);
  },
  'POST queue': ({ cloud, input }) => {
    cloud.events.send((input as { body: string }).body);
  },
  'GET egress': ({ cloud }) => ({ asked: Object.fromEntries(cloud.egress?.asked ?? []) }),
  'PUT replay': ({ cloud, input }) => cloud.play(input as Recording),
  'DELETE replay': ({ cloud }) => cloud.play(undefined),
  'GET joiner': ({ cloud }) => {
    if (cloud.joinerSeenAt === undefined) throw new AwsError('NoJoiner', 'No node joiner has reported.', 404);
    return { seenAt: cloud.joinerSeenAt };
  },
  'POST joiner': ({ cloud }) => {
    cloud.joinerSeenAt = cloud.now();
  },
};

/** Answers a request below /_stowage/. */
export async function controlReply(
  cloud: Cloud,
  method: string,
  url: string,
  body: string,
  signal: AbortSignal,
): Promise<Reply> {
  const { pathname, searchParams } = new URL(url, 'http://control');
  const headers = { 'content-type': 'application/json' };
  const handler = handlers[`${method} ${pathname.replace('/_stowage/', '')}`];
  try {
    if (handler === undefined) throw new AwsError('NotFound', `There is no ${method} ${pathname}.`, 404);
    const input: unknown = body === '' ? {} : JSON.parse(body);
    const result = await handler({ cloud, query: searchParams, input, signal });
    return { status: 200, headers, body: JSON.stringify(result ?? {}) };
  } catch (error) {
    const status = error instanceof AwsError ? error.status : 500;
    return { status, headers, body: JSON.stringify({ error: messageOf(error) }) };
  }
}
