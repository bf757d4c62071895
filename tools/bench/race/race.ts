import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { Condition, Pod } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { isDomainError } from '../../../core/failures.js';
import { createKubeClient } from '../../../kube/client.js';
import type { Kinds, KubeClient, ListOptions, NewObject } from '../../../kube/port.js';
import type { CatalogueEntry } from '../../../test/checker/types.js';
import { kwokCatalogue } from '../../../test/cases/kwok.js';
import { kwokPool } from '../../../test/cases/kwok-pool.js';
import { quietMs } from '../../../test/simulation/scale-down/result.js';
import { freePorts } from '../../stack/ports.js';
import { isRunning, launch, type ProcessRecord, stopProcess } from '../../stack/processes.js';
import { startStack, type Stack } from '../../stack/stack.js';
import { type Cost, Meter } from './meters.js';
import type { Scenario, Step } from './scenarios.js';

/** An autoscaler as a process on its stack. */
export interface Engine {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly temporal: boolean;
  readonly environment: (stack: Stack) => Record<string, string>;
}

/** What is in the image at `folder`, as in the chart's small pod: of its 1Gi Node would let the heap have half. `flags` go to Node, such as --cpu-prof. */
export const stowageEngine = (folder: string, flags: readonly string[] = []): Engine => ({
  name: 'stowage',
  command: [process.execPath, ...flags, join(folder, 'main.js'), 'run'],
  temporal: true,
  environment: (stack) => ({
    ...stack.environment,
    NODE_ENV: 'production',
    NODE_OPTIONS: '--max-semi-space-size=8 --max-old-space-size=512',
    MALLOC_ARENA_MAX: '2',
  }),
});

export const karpenterEngine = (program: string): Engine => ({
  name: 'karpenter',
  command: [program],
  temporal: false,
  environment: (stack) => ({
    KUBECONFIG: stack.adminKubeconfig ?? '',
    DISABLE_LEADER_ELECTION: 'true',
    SYSTEM_NAMESPACE: 'kube-system',
    KUBERNETES_MIN_VERSION: '1.19.0-0',
  }),
});

/** What a step came to. Times are seconds from its beginning; undefined for what did not happen. */
export interface StepResult extends Cost {
  readonly engine: string;
  readonly step: string;
  readonly firstClaim?: number;
  readonly lastClaim?: number;
  readonly halfRunning: number | undefined;
  readonly allRunning: number | undefined;
  /** To the last change of the nodes' price. */
  readonly settled: number;
  /** From the creation of a pod until it was bound. */
  readonly boundP50: number | undefined;
  readonly boundP99: number | undefined;
  readonly nodes: number;
  readonly claimsCreated: number;
  readonly claimsRemoved: number;
  /** Dollars an hour at the end, and dollars paid during the step. */
  readonly price: number;
  readonly paid: number;
  readonly evictions: number;
}

const pollMs = 500;
/** NodeClaims are listed less often than Deployments: a list of a thousand costs the API server more. */
const claimsEveryMs = 3000;
const longestMs = 1_500_000;
const mostTries = 10;

/** Runs a scenario on a new stack; `keep`, if given, is where its logs and databases stay. */
export async function race(
  engine: Engine,
  scenario: Scenario,
  { say, keep }: { readonly say: (line: string) => void; readonly keep?: string | undefined },
): Promise<StepResult[]> {
  const folder = keep ?? mkdtempSync(join(tmpdir(), `stowage-race-${engine.name}-`));
  const parts = engine.temporal ? (['controllers', 'temporal'] as const) : (['controllers'] as const);
  const stack = await startStack({ name: `race-${engine.name}`, folder, parts });
  let child: ProcessRecord | undefined;
  try {
    const kube = patient(createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'bench' }));
    const log = join(folder, 'engine.log');
    const started = await start(engine, stack, folder, log);
    child = started.child;
    await kube.create('KWOKNodeClass', { metadata: { name: 'default' } } as NewObject<Kinds['KWOKNodeClass']>);
    await kube.create('NodePool', kwokPool(scenario.pool));
    await started.ready();
    const results: StepResult[] = [];
    for (const step of scenario.steps) {
      const result = await measure(engine, step, { stack, kube, child, log, say });
      results.push(result);
      say(`${engine.name}, ${step.what}: ${JSON.stringify(result)}`);
    }
    return results;
  } finally {
    if (child !== undefined) await stopProcess(child, 120_000);
    await stack.stop();
    if (keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

interface World {
  readonly stack: Stack;
  readonly kube: KubeClient;
  readonly child: ProcessRecord;
  readonly log: string;
  readonly say: (line: string) => void;
}

async function measure(engine: Engine, step: Step, world: World): Promise<StepResult> {
  const { stack, kube, child } = world;
  const known = new Set((await pods(kube)).map(uidOf));
  const knownClaims = new Set((await kube.list('NodeClaim')).map(uidOf));
  const meter = await Meter.start(stack, child.pid);
  const course = new Course(await fleetOf(kube));
  await step.act(kube, stack);
  await follow(engine, step, world, course);
  const cost = await meter.read();
  const bound = (await pods(kube)).filter((pod) => !known.has(uidOf(pod))).flatMap(boundAfter);
  const inOrder = bound.sort((a, b) => a - b);
  const at = (share: number): number | undefined => inOrder[Math.floor(share * (inOrder.length - 1))];
  const claims = [...course.claims].filter(([uid]) => !knownClaims.has(uid)).map(([, time]) => course.seconds(time));
  const { halfRunning, allRunning, paid, fleet } = course;
  return {
    engine: engine.name,
    step: step.what,
    ...(claims.length === 0 ? {} : { firstClaim: Math.min(...claims), lastClaim: Math.max(...claims) }),
    halfRunning,
    allRunning,
    settled: course.seconds(course.changedAt),
    boundP50: at(0.5),
    boundP99: at(0.99),
    nodes: fleet.claims.length,
    claimsCreated: claims.length,
    claimsRemoved: cost.requests['DELETE nodeclaims'] ?? 0,
    price: fleet.price,
    paid,
    evictions: cost.requests['POST pods/eviction'] ?? 0,
    ...cost,
  };
}

/** What is seen of a step while it goes on. */
class Course {
  /** When each NodeClaim that was ever seen was created, by UID. */
  readonly claims = new Map<string, number>();
  readonly began = Date.now();
  changedAt = this.began;
  halfRunning: number | undefined;
  allRunning: number | undefined;
  paid = 0;
  private listedAt = this.began;

  constructor(public fleet: Fleet) {
    this.note(fleet);
  }

  seconds(at = Date.now()): number {
    return (at - this.began) / 1000;
  }

  get isListDue(): boolean {
    return Date.now() - this.listedAt >= claimsEveryMs;
  }

  noteRunning({ wanted, running, current }: Replicas): boolean {
    if (running >= wanted / 2) this.halfRunning ??= this.seconds();
    const isDone = current && running === wanted;
    if (isDone) this.allRunning ??= this.seconds();
    return isDone;
  }

  /** Whether something has changed. */
  note(next: Fleet): boolean {
    const now = Date.now();
    this.paid += (this.fleet.price * (now - this.listedAt)) / 3_600_000;
    this.listedAt = now;
    for (const { metadata } of next.claims) this.claims.set(metadata.uid ?? '', timeOf(metadata.creationTimestamp));
    const hasChanged = next.claims.length !== this.fleet.claims.length || next.price !== this.fleet.price;
    if (hasChanged) this.changedAt = now;
    this.fleet = next;
    return hasChanged;
  }
}

/** Looks until the step is over. */
async function follow({ name }: Engine, step: Step, { kube, child, log, say }: World, course: Course): Promise<void> {
  while (course.seconds() * 1000 < longestMs) {
    if (!isRunning(child)) throw new Error(`${name} ended:\n${readFileSync(log, 'utf8').slice(-2000)}`);
    const replicas = await replicasOf(kube);
    const isDone = course.noteRunning(replicas);
    if ((course.isListDue || (isDone && step.until === 'running')) && course.note(await fleetOf(kube))) {
      const { running, wanted } = replicas;
      say(`  ${course.seconds().toFixed(0)} s: ${course.fleet.claims.length} nodes, ${running} of ${wanted} pods run`);
    }
    if (isDone && (step.until === 'running' || Date.now() - course.changedAt > quietMs)) return;
    await sleep(pollMs);
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

async function start(
  engine: Engine,
  stack: Stack,
  folder: string,
  log: string,
): Promise<{ readonly child: ProcessRecord; readonly ready: () => Promise<void> }> {
  const catalogue = join(folder, 'instance-types.json');
  writeFileSync(catalogue, JSON.stringify(kwokCatalogue()));
  const [metrics, health] = await freePorts(2);
  const [command, ...args] = engine.command;
  const child = launch(command, args, {
    log,
    cwd: process.cwd(),
    env: {
      ...engine.environment(stack),
      CLOUD_PROVIDER: 'kwok',
      INSTANCE_TYPES_FILE_PATH: catalogue,
      LISTEN_ADDRESS: '127.0.0.1',
      METRICS_PORT: String(metrics),
      HEALTH_PROBE_PORT: String(health),
    },
  });
  const ready = async (): Promise<void> => {
    const isReady = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined))?.ok === true;
    while (!(await isReady())) {
      if (!isRunning(child)) throw new Error(`${engine.name} ended:\n${readFileSync(log, 'utf8').slice(-2000)}`);
      await sleep(pollMs);
    }
    // Both engines list everything once they are ready.
    await sleep(5000);
  };
  return { child, ready };
}

interface Replicas {
  readonly wanted: number;
  readonly running: number;
  /** Every Deployment has nothing but pods of its newest template. */
  readonly current: boolean;
}

async function replicasOf(kube: KubeClient): Promise<Replicas> {
  const all = (await kube.list('Deployment', { namespace: 'default' })) as readonly DeploymentStatus[];
  const sum = (of: (each: DeploymentStatus) => number | undefined): number =>
    all.reduce((total, each) => total + (of(each) ?? 0), 0);
  const wanted = sum(({ spec }) => spec?.replicas);
  return {
    wanted,
    running: sum(({ status }) => status?.readyReplicas),
    current: all.every(
      ({ metadata, spec, status }) =>
        metadata.generation === status?.observedGeneration &&
        (status?.updatedReplicas ?? 0) === spec?.replicas &&
        (status?.replicas ?? 0) === spec.replicas,
    ),
  };
}

interface DeploymentStatus {
  readonly metadata: { readonly generation?: number };
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
  };
}

interface Fleet {
  readonly claims: readonly NodeClaim[];
  readonly price: number;
}

async function fleetOf(kube: KubeClient): Promise<Fleet> {
  const claims = await kube.list('NodeClaim');
  return { claims, price: claims.reduce((sum, claim) => sum + priceOf(claim), 0) };
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
const uidOf = ({ metadata }: { readonly metadata: { readonly uid?: string | undefined } }): string =>
  metadata.uid ?? '';
const timeOf = (text = ''): number => Date.parse(text);

function boundAfter({ metadata, status }: Pod): number[] {
  const scheduled = (status?.conditions as readonly Condition[] | undefined)?.find(
    (each) => each.type === 'PodScheduled' && each.status === 'True',
  );
  if (scheduled === undefined) return [];
  return [(timeOf(scheduled.lastTransitionTime) - timeOf(metadata.creationTimestamp)) / 1000];
}
