import type { Random } from '../../../test/cases/random.js';
import type { Stage } from '../stage.js';
import {
  changeWeather,
  exhaust,
  freezePart,
  freezeReplica,
  killPart,
  killReplica,
  replenish,
  strand,
  type ChaosStage,
} from './troubles.js';
import { apps, release, scale } from './workload.js';

/** Does one thing to the cluster; resolves to what it was, or to undefined when there was nothing to do it to. */
type Event = (stage: ChaosStage, random: Random) => Promise<string | undefined>;

const faultyActions = ['CreateFleet', 'TerminateInstances', 'DescribeInstances', 'CreateTags', 'CreateLaunchTemplate'];
const faults = [
  { kind: 'lost' },
  { kind: 'throttle' },
  { kind: 'cut' },
  { kind: 'hang' },
  { kind: 'delay', delayMs: 3000 },
] as const;

async function rescale({ kube }: Stage, random: Random): Promise<string> {
  const name = random.pick(Object.keys(apps));
  const replicas = random.int(0, apps[name]?.most ?? 0);
  await scale(kube, name, replicas);
  return `${name} scaled to ${replicas}`;
}

async function interrupt({ cloud }: Stage, random: Random): Promise<string | undefined> {
  const spot = (await cloud.instances()).filter(({ state, lifecycle }) => state === 'running' && lifecycle === 'spot');
  if (spot.length === 0) return undefined;
  const { id } = random.pick(spot);
  await cloud.interruptSpot(id, { delayMs: 120_000 });
  return `${id} has two minutes to leave`;
}

async function lose({ cloud }: Stage, random: Random): Promise<string | undefined> {
  const running = (await cloud.instances()).filter(({ state }) => state === 'running');
  if (running.length === 0) return undefined;
  const { id } = random.pick(running);
  await cloud.setInstanceState(id, 'terminated');
  return `${id} is gone without a word`;
}

async function fail({ cloud }: Stage, random: Random): Promise<string> {
  const action = random.pick(faultyActions);
  const fault = random.pick(faults);
  await cloud.addFault({ ...fault, action, service: 'ec2', times: 2 });
  return `the next two calls of ${action}: ${fault.kind}`;
}

async function deleteNode({ kube }: Stage, random: Random): Promise<string | undefined> {
  const nodes = await kube.list('Node');
  if (nodes.length === 0) return undefined;
  const name = random.pick(nodes).metadata.name ?? '';
  await kube.delete('Node', { name });
  return `kubectl delete node ${name}`;
}

async function deletePod({ kube }: Stage, random: Random): Promise<string | undefined> {
  const running = (await kube.list('Pod', { namespace: 'default' })).filter(
    ({ status }) => status?.phase === 'Running',
  );
  if (running.length === 0) return undefined;
  const name = random.pick(running).metadata.name ?? '';
  await kube.delete('Pod', { name, namespace: 'default' });
  return `kubectl delete pod ${name}`;
}

async function drift({ kube }: Stage, random: Random): Promise<string> {
  const number = random.int(2, 1_000_000);
  await release(kube, number);
  return `the node class becomes release ${number}`;
}

/** The events, by how often each is drawn: mostly scaling. */
const events: readonly Event[] = [
  ...Array.from({ length: 8 }, () => rescale),
  deletePod,
  deleteNode,
  interrupt,
  interrupt,
  lose,
  fail,
  fail,
  fail,
  drift,
  exhaust,
  replenish,
  killReplica,
  killReplica,
  freezeReplica,
  killPart,
  freezePart,
  changeWeather,
  changeWeather,
  strand,
];

export async function nextEvent(stage: ChaosStage, random: Random): Promise<string | undefined> {
  return random.pick(events)(stage, random);
}
