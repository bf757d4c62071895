import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Table from 'cli-table3';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { isDomainError } from '../../core/failures.js';
import { observe } from '../stack/demo/observe.js';
import { deploymentOf } from '../stack/deployment.js';
import { repositoryRoot } from '../stack/paths.js';
import { freePorts } from '../stack/ports.js';
import { startStack, type Stack } from '../stack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import type { Kinds, KubeClient, ListOptions, NewObject } from '../../kube/port.js';
import type { CatalogueEntry } from '../../test/checker/types.js';
import { bare } from './report.js';
import { quietMs, type ScaleDown } from '../../test/simulation/scale-down/result.js';
import { deployments, kwokCatalogue, kwokPods } from '../../test/cases/kwok.js';
import { boundOf, share } from './kwok.js';
import { kwokPool } from '../../test/cases/kwok-pool.js';
import type { PoolDisruption } from '../../test/cases/kwok-pool.js';

/** Each Deployment begins with so many replicas and ends with so many: the measurement that the KWOK provider's users make. */
export const replicas = { before: 500, after: 500 * share };
const mostTries = 10;

export interface LiveScaleDown extends ScaleDown {
  readonly engine: string;
  /** The integral of the price over the time until then, dollars. */
  readonly paid: number;
  /** Most pods not running at a time, after the scale-down. */
  readonly mostWaiting: number;
}

/** An autoscaler as a process on a stack of its own. */
interface Engine {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly temporal: boolean;
  readonly environment: (stack: Stack) => NodeJS.ProcessEnv;
}

export const stowageEngine: Engine = {
  name: 'stowage',
  command: [process.execPath, join(repositoryRoot(), 'bin/stowage'), 'run'],
  temporal: true,
  environment: (stack) => stack.environment,
};

export const karpenterEngine = (program: string): Engine => ({
  name: 'karpenter',
  command: [program],
  temporal: false,
  environment: (stack) => ({
    KUBECONFIG: stack.adminKubeconfig,
    DISABLE_LEADER_ELECTION: 'true',
    SYSTEM_NAMESPACE: 'kube-system',
    KUBERNETES_MIN_VERSION: '1.19.0-0',
  }),
});

/**
 * 1,000 pods of two Deployments on a real API server, scheduler and KWOK, scaled down to 700: what the nodes cost until nothing
 * changes any more. Rejects when the engine ends, or when the 1,000 pods do not run within ten minutes.
 */
export async function measureLive(
  engine: Engine,
  { consolidateAfter, nodes }: PoolDisruption,
  say: (line: string) => void,
): Promise<LiveScaleDown> {
  return onStack(engine, async ({ kube, failure }) => {
    await kube.create('NodePool', kwokPool({ consolidateAfter, nodes }));
    await deploy(kube);
    await observe('1,000 pods running', () => running(kube), { withinMs: 600_000, failure });
    const before = await fleet(kube);
    say(`${engine.name}: 1,000 pods run on ${before.nodes} nodes for ${before.price.toFixed(2)} an hour`);
    return { engine: engine.name, ...(await scaleDown(kube, before, { say, failure })) };
  });
}

export interface LiveLaunch {
  readonly engine: string;
  /** Dollars an hour, and nodes, once every pod runs. */
  readonly price: number;
  readonly nodes: number;
  /** What the first plan launched alone. */
  readonly firstNodes: number;
  /** Plans that launched something; undefined where NodeClaims do not tell. */
  readonly rounds: number | undefined;
  /** From the NodePool, which is created once every pod is found unschedulable, until all run. */
  readonly seconds: number;
}

/**
 * The same 1,000 pods, all of them pending before there is a NodePool: one plan holds them all, and what is launched after it
 * makes up for kube-scheduler placing them otherwise.
 */
export async function measureLaunch(
  engine: Engine,
  { consolidateAfter, nodes }: PoolDisruption,
  say: (line: string) => void,
): Promise<LiveLaunch> {
  return onStack(engine, async ({ kube, failure }) => {
    await deploy(kube);
    const pending = async (): Promise<boolean> =>
      (await pods(kube)).filter(isUnschedulable).length === 2 * replicas.before;
    await observe('1,000 pods pending', pending, { withinMs: 120_000, failure });
    const started = Date.now();
    await kube.create('NodePool', kwokPool({ consolidateAfter, nodes }));
    await observe('1,000 pods running', () => running(kube), { withinMs: 600_000, failure });
    const seconds = (Date.now() - started) / 1000;
    const counts = nodesByPlan(await kube.list('NodeClaim'));
    const result = {
      engine: engine.name,
      ...(await fleet(kube)),
      firstNodes: counts[0] ?? 0,
      rounds: counts.length === 0 ? undefined : counts.length,
      seconds,
    };
    say(`${engine.name}: ${counts.join(' + ')} nodes, ${result.price.toFixed(2)} an hour, ${seconds.toFixed(0)} s`);
    return result;
  });
}

/** How many NodeClaims each batch made, in their order; none for an engine whose claims do not tell. */
function nodesByPlan(claims: readonly NodeClaim[]): number[] {
  const counts = new Map<number, number>();
  for (const { metadata } of claims) {
    const [, batch] = metadata.annotations?.[annotations.plan]?.split('/') ?? [];
    if (batch !== undefined) counts.set(Number(batch), (counts.get(Number(batch)) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => a - b).map(([, count]) => count);
}

async function deploy(kube: KubeClient): Promise<void> {
  for (const { name, requests } of deployments)
    await kube.create('Deployment', deploymentOf(name, replicas.before, requests));
}

async function running(kube: KubeClient): Promise<boolean> {
  return (await pods(kube)).filter(isRunning).length === 2 * replicas.before;
}

/** Runs the engine on a stack of its own, with a node class, for as long as `measure` takes. */
async function onStack<T>(
  engine: Engine,
  measure: (world: { readonly kube: KubeClient; readonly failure: () => Error | undefined }) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), `stowage-live-${engine.name}-`));
  const parts = engine.temporal ? (['controllers', 'temporal'] as const) : (['controllers'] as const);
  const stack = await startStack({ name: `live-${engine.name}`, folder, parts });
  let child: ChildProcess | undefined;
  try {
    const kube = patient(createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'bench' }));
    const log = join(folder, 'engine.log');
    child = await start(engine, stack, folder, log);
    const failure = (): Error | undefined =>
      child?.exitCode === null
        ? undefined
        : new Error(`${engine.name} ended:\n${readFileSync(log, 'utf8').slice(-2000)}`);
    await kube.create('KWOKNodeClass', { metadata: { name: 'default' } } as NewObject<Kinds['KWOKNodeClass']>);
    return await measure({ kube, failure });
  } finally {
    await ended(child);
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Lists again where a connection broke: a busy machine's API server drops some, and a run is long. */
function patient(kube: KubeClient): KubeClient {
  const list = async <K extends keyof Kinds>(kind: K, options?: ListOptions): Promise<Kinds[K][]> => {
    for (let tries = 1; ; tries++) {
      try {
        return await kube.list(kind, options);
      } catch (error) {
        if (!isDomainError(error, 'Unavailable') || tries === mostTries) throw error;
        await sleep(1000);
      }
    }
  };
  return { ...kube, list };
}

async function start(engine: Engine, stack: Stack, folder: string, log: string): Promise<ChildProcess> {
  const catalogue = join(folder, 'instance-types.json');
  writeFileSync(catalogue, JSON.stringify(kwokCatalogue()));
  const [metrics, health] = await freePorts(2);
  const output = openSync(log, 'a');
  const [command, ...args] = engine.command;
  const child = spawn(command, args, {
    stdio: ['ignore', output, output],
    env: {
      ...process.env,
      ...engine.environment(stack),
      CLOUD_PROVIDER: 'kwok',
      INSTANCE_TYPES_FILE_PATH: catalogue,
      LISTEN_ADDRESS: '127.0.0.1',
      METRICS_PORT: String(metrics),
      HEALTH_PROBE_PORT: String(health),
    },
  });
  closeSync(output);
  return child;
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  if (child.kill('SIGTERM')) await exit;
}

/** What came of it, an engine a line. */
export function liveTable(results: readonly LiveScaleDown[]): string {
  const head = [
    'engine',
    'before',
    'after',
    'over bound',
    'nodes',
    'seconds',
    'paid until then',
    'pods moved',
    'most waiting',
  ];
  const table = new Table({ ...bare, head, colAligns: ['left', ...new Array<'right'>(head.length - 1).fill('right')] });
  const bound = boundOf(kwokPods(2 * replicas.before));
  for (const each of results) {
    table.push([
      each.engine,
      each.priceBefore.toFixed(2),
      each.priceAfter.toFixed(2),
      `${((each.priceAfter / bound - 1) * 100).toFixed(1)}%`,
      `${each.nodesBefore} to ${each.nodesAfter}`,
      each.seconds.toFixed(0),
      each.paid.toFixed(3),
      String(each.podsMoved),
      String(each.mostWaiting),
    ]);
  }
  return table.toString();
}

/** What came of the launches, a line each. */
export function launchTable(results: readonly LiveLaunch[]): string {
  const head = ['engine', 'price', 'nodes', 'of the first plan', 'rounds', 'seconds'];
  const table = new Table({ ...bare, head, colAligns: ['left', ...new Array<'right'>(head.length - 1).fill('right')] });
  for (const { engine, price, nodes, firstNodes, rounds, seconds } of results) {
    const launched = rounds === undefined ? ['', ''] : [String(firstNodes), String(rounds)];
    table.push([engine, price.toFixed(2), String(nodes), ...launched, seconds.toFixed(0)]);
  }
  return table.toString();
}

interface Fleet {
  readonly price: number;
  readonly nodes: number;
}

async function scaleDown(
  kube: KubeClient,
  before: Fleet,
  { say, failure }: { say: (line: string) => void; failure: () => Error | undefined },
): Promise<Omit<LiveScaleDown, 'engine'>> {
  const known = new Set((await pods(kube)).map(uidOf));
  for (const { name } of deployments)
    await kube.patch('Deployment', { name, namespace: 'default' }, { spec: { replicas: replicas.after } });
  const started = Date.now();
  let [last, changedAt, lookedAt, paid, paidThen, mostWaiting] = [before, started, started, 0, 0, 0];
  while (Date.now() - changedAt < quietMs) {
    const failed = failure();
    if (failed !== undefined) throw failed;
    await sleep(1000);
    const now = Date.now();
    paid += (last.price * (now - lookedAt)) / 3_600_000;
    lookedAt = now;
    const current = await fleet(kube);
    const there = await pods(kube);
    for (const pod of there) known.add(uidOf(pod));
    const alive = there.filter(isRunning).length;
    mostWaiting = Math.max(mostWaiting, 2 * replicas.after - alive);
    if (current.price === last.price && current.nodes === last.nodes) continue;
    say(`  ${((now - started) / 1000).toFixed(0)} s: ${current.nodes} nodes for ${current.price.toFixed(2)} an hour`);
    [last, changedAt, paidThen] = [current, now, paid];
  }
  const podsMoved = known.size - 2 * replicas.before;
  const seconds = (changedAt - started) / 1000;
  return {
    priceBefore: before.price,
    priceAfter: last.price,
    nodesBefore: before.nodes,
    nodesAfter: last.nodes,
    podsMoved,
    seconds,
    paid: paidThen,
    mostWaiting,
  };
}

async function fleet(kube: KubeClient): Promise<Fleet> {
  const claims = await kube.list('NodeClaim');
  return { price: claims.reduce((sum, claim) => sum + priceOf(claim), 0), nodes: claims.length };
}

const catalogue: ReadonlyMap<string, CatalogueEntry> = new Map(kwokCatalogue().map((type) => [type.name, type]));

function priceOf({ metadata }: NodeClaim): number {
  const own = metadata.labels ?? {};
  const wanted = [own[labels.zone], own[labels.capacityType]];
  const offering = catalogue
    .get(own[labels.instanceType] ?? '')
    ?.offerings.find(({ Requirements }) => Requirements.every(({ values }) => wanted.includes(values?.[0])));
  return offering?.Price ?? 0;
}

const pods = (kube: KubeClient): Promise<readonly Pod[]> => kube.list('Pod', { namespace: 'default' });
const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';
const isRunning = ({ status, metadata }: Pod): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;

const isUnschedulable = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false;
