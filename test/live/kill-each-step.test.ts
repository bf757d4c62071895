import { afterAll, describe, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import type { WorkflowHandle, Connection } from '@temporalio/client';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Pod } from '../../api/kubernetes.js';
import { labels, taints } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import type { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { type InstanceView } from '../../tools/stack/cloud-proxy/control.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import type { Stack } from '../../tools/stack/stack.js';
import { createClusterCache } from '../../kube/cache.js';
import type { ClusterCache, KubeClient } from '../../kube/port.js';
import type { consolidate } from '../../workflows/consolidation/consolidate.js';
import { pauseUpdate, phaseQuery, resumeUpdate } from '../../workflows/messages.js';
import { onSharedWorld } from './shared-world.js';
import { answered, createNodeClass, createNodePool, isRunning, type LiveWorld } from './world.js';

/*
 * The process dies by SIGKILL in the middle of every step of a consolidation, and the consolidation finishes as if nothing
 * had been: several nodes become one, launched once, and no pod is ever without a place. Every part is real; what a step
 * waits for is held until the process is dead. Each round has its own pool and workloads.
 */

interface Workload {
  readonly replicas: number;
  readonly cpu: string;
  readonly memory: string;
  /** Instance types that the others need: kube-scheduler binds in no order that a plan could know. */
  readonly avoids: readonly string[];
}

interface Round {
  readonly pool: string;
  readonly workloads: Readonly<Record<string, Workload>>;
  /** What it begins with, as the pool may launch no others then. */
  readonly before: readonly string[];
  /** What all of it ends on once that may be launched. */
  readonly after: string;
  /** By the prices of instance types alone. */
  readonly savedPerHour: number;
}

/** On nodes of 4 CPUs with 8 GB and of 2 CPUs with 16 GB; one that has room for 5 CPUs and 20 GB is cheaper. */
const example: Round = {
  pool: 'example',
  workloads: {
    yellow: { replicas: 2, cpu: '1', memory: '1Gi', avoids: ['r5.large'] },
    red: { replicas: 3, cpu: '1', memory: '6Gi', avoids: ['c5.xlarge'] },
  },
  before: ['c5.xlarge', 'r5.large', 'r5.large', 'r5.large'],
  after: 'm5.2xlarge',
  savedPerHour: 0.164,
};
const pair: Round = {
  pool: 'pair',
  workloads: { web: { replicas: 2, cpu: '1200m', memory: '1Gi', avoids: [] } },
  before: ['r5.large', 'r5.large'],
  after: 'c5.xlarge',
  savedPerHour: 0.082,
};
const rounds = [example, pair];

let world: LiveWorld;
let stack: Stack;
let kube: KubeClient;
let cache: ClusterCache;
let cloud: CloudProxyControl;
let temporal: Connection;
const stopping = new AbortController();
/** Pods that found no room once everything ran. */
const homeless = new Set<string>();
/** Workloads that missed more than one pod at a time, as their budgets forbid. */
const short = new Set<string>();
const patience = { withinMs: 240_000 };

onSharedWorld(async (given) => {
  world = given;
  ({ stack, kube, cloud, temporal } = world);
  cache = createClusterCache({ client: kube, kinds: ['Pod', 'Node', 'NodeClaim'] });
  await cache.start(stopping.signal);
  for (const round of rounds) {
    await createNodeClass(world, round.pool);
    // Pods first: one plan sees all of them.
    for (const name of Object.keys(round.workloads)) await deploy(round, name);
  }
  await seen('every pod waiting', () => rounds.every((round) => allPods(round).length === sizeOf(round)));
  for (const round of rounds) await allow(round, new Set(round.before));
  await seen('everything running', () => rounds.every((round) => runs(round) && hasReady(round, round.before)));
  // From here on every pod that moves has a place waiting.
  cache.on('Pod', ({ object }) => {
    if (isUnschedulable(object)) homeless.add(object.metadata.name ?? '');
    for (const [name, { replicas }] of rounds.flatMap(({ workloads }) => Object.entries(workloads))) {
      if (podsOf(name).filter(isRunning).length < replicas - 1) short.add(name);
    }
  });
});

afterAll(() => stopping.abort());

/** The round's pool may launch these types; all of its nodes may go at once. */
async function allow({ pool }: Round, instanceTypes: Iterable<string>): Promise<void> {
  const requirements = [
    { key: labels.capacityType, operator: 'In', values: ['on-demand'] },
    { key: labels.instanceType, operator: 'In', values: [...instanceTypes] },
  ];
  const spec = { disruption: { consolidateAfter: '1s', budgets: [{ nodes: '100%' }] } };
  await createNodePool(world, pool, { nodeClass: pool, template: { requirements }, spec });
}

/** Pods of the round's pool, of which one at a time may be away. */
async function deploy({ pool, workloads }: Round, name: string): Promise<void> {
  const { replicas, cpu, memory, avoids } = workloads[name]!;
  const { metadata, spec } = deploymentOf(name, replicas, { cpu, memory });
  const { template } = spec;
  const matchExpressions = [
    { key: labels.nodePool, operator: 'In' as const, values: [pool] },
    ...(avoids.length === 0 ? [] : [{ key: labels.instanceType, operator: 'NotIn' as const, values: [...avoids] }]),
  ];
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
  };
  await kube.create('Deployment', {
    metadata,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, affinity: { nodeAffinity } } } },
  });
  await kube.create('PodDisruptionBudget', {
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
  });
}

/** Waits until the watch events of the API server meet `condition`. */
async function seen(what: string, condition: () => boolean): Promise<void> {
  try {
    await cache.until(condition, AbortSignal.timeout(patience.withinMs));
  } catch (error) {
    throw new Error(`${what} was not seen within ${patience.withinMs / 1000} s. ${state()}`, { cause: error });
  }
}

function state(): string {
  const claims = cache
    .all('NodeClaim')
    .map(({ metadata, status }) => [metadata.name, metadata.deletionTimestamp, status?.conditions]);
  const pods = cache.all('Pod').map(({ metadata, spec, status }) => [metadata.name, spec.nodeName, status?.phase]);
  return JSON.stringify({ claims, pods });
}

const claimsOf = ({ pool }: Round): NodeClaim[] =>
  cache.all('NodeClaim').filter(({ metadata }) => metadata.labels?.[labels.nodePool] === pool);
const nodesOf = ({ pool }: Round): Node[] =>
  cache.all('Node').filter(({ metadata }) => metadata.labels?.[labels.nodePool] === pool);
const podsOf = (app: string): Pod[] =>
  cache.all('Pod').filter(({ metadata }) => metadata.labels?.['app'] === app && metadata.namespace === 'default');
const allPods = ({ workloads }: Round): Pod[] => Object.keys(workloads).flatMap(podsOf);

const sizeOf = ({ workloads }: Round): number =>
  Object.values(workloads).reduce((sum, { replicas }) => sum + replicas, 0);

const typeOf = ({ metadata }: NodeClaim): string => metadata.labels?.[labels.instanceType] ?? '';
const is = (type: string) => (claim: NodeClaim) => isTrue(claim.status?.conditions, type);
/** The replacement, once it has an instance. */
const launched = (round: Round): NodeClaim[] =>
  claimsOf(round).filter((claim) => typeOf(claim) === round.after && is('Launched')(claim));
const isTainted = ({ spec }: Node): boolean => spec?.taints?.some(({ key }) => key === taints.disrupted.key) ?? false;
const isUnschedulable = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'PodScheduled' && value === 'False') ?? false;

/** Every pod of the round runs, and none is going. */
function runs({ workloads }: Round): boolean {
  return Object.entries(workloads).every(([name, { replicas }]) => {
    const pods = podsOf(name);
    return pods.length === replicas && pods.every(isRunning);
  });
}

/** Exactly nodes of these types, and all are Ready. */
function hasReady(round: Round, types: readonly string[]): boolean {
  const claims = claimsOf(round);
  return claims.every(is('Ready')) && claims.map(typeOf).sort().join() === [...types].sort().join();
}

async function instancesOf({ pool }: Round): Promise<InstanceView[]> {
  return (await cloud.instances()).filter(({ tags }) => tags['karpenter.sh/nodepool'] === pool);
}

/** The round's consolidation that is in that phase, or in any. One that gives way to pods that were just planned may have come before it. */
async function consolidating({ pool }: Round, phase?: string): Promise<WorkflowHandle<typeof consolidate>> {
  const { workflow } = new Client({ connection: temporal });
  const query = `WorkflowType = "consolidate" AND StowageNodePool = "${pool}" AND ExecutionStatus = "Running"`;
  return observe(
    `a consolidation of ${pool}`,
    async () => {
      for await (const { workflowId, runId } of workflow.list({ query })) {
        const move = workflow.getHandle<typeof consolidate>(workflowId, runId);
        if (phase === undefined || (await phaseOf(move)) === phase) return move;
      }
      return undefined;
    },
    patience,
    () => Promise.resolve(state()),
  );
}

const phaseOf = (move: WorkflowHandle): Promise<string> =>
  move.query(phaseQuery).catch((error: unknown) => String(error));

async function phaseIs(move: WorkflowHandle, phase: string): Promise<void> {
  let last = '';
  await observe(
    `${move.workflowId} being ${phase}`,
    async () => {
      last = await phaseOf(move);
      return last === phase;
    },
    patience,
    () => Promise.resolve(last),
  );
}

const kill = (): Promise<void> => stack.stopComponent('stowage', true);
const restart = (): Promise<void> => stack.startComponent('stowage');

/** Root volume (20 GiB of gp3) and public address of a node, dollars per hour. */
const nodeExtraPerHour = 0.007192;

/** One node with all pods instead of several, and nothing left of what led there. */
async function finished(round: Round, move: WorkflowHandle<typeof consolidate>): Promise<void> {
  const { before, after, savedPerHour } = round;
  const result = await move.result();
  // With the reason, should it have come to nothing.
  expect({ reason: undefined, ...result }).toMatchObject({ outcome: 'done', reason: undefined });
  expect(result.savedPerHour).toBeCloseTo(savedPerHour + (before.length - 1) * nodeExtraPerHour, 4);
  expect(result.terminated).toHaveLength(before.length);
  expect(result.replacements).toHaveLength(1);

  await seen('all pods on the new node', () => runs(round) && claimsOf(round).length === 1);
  const [claim] = claimsOf(round);
  expect(claim?.metadata.name).toBe(result.replacements?.[0]);
  expect(claim?.metadata.deletionTimestamp).toBeUndefined();
  expect(typeOf(claim!)).toBe(after);
  // Nothing is held back by a finalizer: of claims and nodes there is no other left, on its way out or not.
  await seen('the one node alone', () => nodesOf(round).length === 1);
  const [node] = nodesOf(round);
  expect(node?.metadata.deletionTimestamp).toBeUndefined();
  expect(isTainted(node!)).toBe(false);
  expect(new Set(allPods(round).map(({ spec }) => spec.nodeName))).toEqual(new Set([node?.metadata.name]));
  // One instance was launched for all, and the instances that it replaces are gone.
  const instances = await instancesOf(round);
  expect(instances.map(({ instanceType, state }) => `${instanceType} ${state}`).sort()).toEqual(
    [`${after} running`, ...before.map((type) => `${type} terminated`)].sort(),
  );
  expect([...homeless]).toEqual([]);
  expect([...short]).toEqual([]);
}

describe('a consolidation outlives the process', () => {
  test('2 yellow and 3 red pods end on one cheaper node, though it is paused midway and the process killed meanwhile', async () => {
    const round = example;
    const disrupt = new Client({ connection: temporal }).workflow.getHandle(workflowIds.disrupt(stack.cluster));
    const scope = { kind: 'nodePool', name: round.pool } as const;
    stack.freeze('node-joiner', true);
    await allow(round, new Set([...round.before, round.after]));
    await seen('a replacement that is launched', () => launched(round).length > 0);
    const move = await consolidating(round);
    expect(nodesOf(round).filter(isTainted)).toHaveLength(round.before.length);

    await disrupt.executeUpdate(pauseUpdate, { args: [{ scope, actor: 'ann', reason: 'a release is under way' }] });
    await seen('no taint any more', () => !nodesOf(round).some(isTainted));
    await phaseIs(move, 'waiting for its turn');
    await kill();
    stack.freeze('node-joiner', false);
    await restart();

    // The replacement comes up meanwhile, and still nothing goes.
    await seen('the replacement up', () => hasReady(round, [...round.before, round.after]));
    await phaseIs(move, 'waiting for its turn');
    expect(nodesOf(round).some(isTainted)).toBe(false);
    expect(claimsOf(round).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
    expect(runs(round)).toBe(true);

    await answered(() => disrupt.executeUpdate(resumeUpdate, { args: [{ scope, actor: 'ann' }] }));
    await finished(round, move);
  });

  test('killed at each step of a consolidation, the process resumes at that step, and does nothing twice', async () => {
    const round = pair;
    const pods = new Set(allPods(round).map(({ metadata }) => metadata.uid));
    const isNew = ({ metadata }: Pod): boolean => !pods.has(metadata.uid);
    // An instance is launched, and its answer never comes.
    await cloud.addFault({ kind: 'lost', action: 'CreateFleet', containing: `"${round.pool}-` });
    // Long enough to be seen on a slow machine; nothing waits for it to pass.
    await cloud.configure({ shuttingDownMs: 15_000 });
    stack.freeze('node-joiner', true);
    await allow(round, new Set([...round.before, round.after]));
    await consolidating(round, 'validating');
    await kill();
    expect(nodesOf(round).some(isTainted)).toBe(false);
    await restart();

    await seen('a taint', () => nodesOf(round).some(isTainted));
    const move = await consolidating(round);
    await kill();
    await restart();

    const ofReplacement = async (): Promise<InstanceView[]> =>
      (await instancesOf(round)).filter(({ instanceType }) => instanceType === round.after);
    await observe(
      'a launch',
      async () => (await ofReplacement()).length > 0,
      patience,
      () => Promise.resolve(state()),
    );
    await kill();
    expect(await cloud.faults()).toEqual([]);
    expect(await ofReplacement()).toHaveLength(1);
    await restart();

    await seen('a replacement that is launched', () => launched(round).length > 0);
    await kill();
    expect(nodesOf(round).filter(isTainted)).toHaveLength(round.before.length);
    expect(allPods(round).some(isNew)).toBe(false);
    stack.freeze('node-joiner', false);
    await restart();

    await seen('an evicted pod', () => allPods(round).some(isNew));
    await kill();
    expect(claimsOf(round).some(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
    await restart();

    await seen('an instance that ends', () => claimsOf(round).some(is('InstanceTerminating')));
    await kill();
    expect((await instancesOf(round)).some(({ state }) => state !== 'running')).toBe(true);
    await restart();
    await finished(round, move);
  });
});
