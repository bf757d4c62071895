import { createClusterCache } from '../../kube/cache.js';
import type { KubeClient, Kinds, NewObject } from '../../kube/port.js';
import { Auditor } from '../auditor/auditor.js';
import type { CloudProxyControl } from '../cloud-proxy/control.js';
import { nodeClassSpec } from '../node-class.js';
import { Replica } from '../replica.js';
import type { Stack } from '../stack.js';
import { TemporalProxy } from '../temporal-proxy/proxy.js';
import type { CrashPoint } from './crash-points.js';
import { Lane } from './lane.js';
import type { MatrixOptions } from './options.js';
import { MatrixRun } from './run.js';

export interface MatrixResult {
  readonly points: readonly CrashPoint[];
  readonly deaths: number;
  /** How often each scenario came to its end. */
  readonly rounds: ReadonlyMap<string, number>;
  readonly problems: readonly string[];
}

interface Parts {
  readonly stack: Stack;
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
}

const gates = { FEATURE_GATES: 'StaticCapacity=true,NodeRepair=true' };
const restMs = 10 * 60_000;

/**
 * Scenarios side by side on one stack, again and again, while the worker is killed by SIGKILL at every step that any of their
 * workflows comes to, once each, and started again. The operator lives on; the auditor watches throughout.
 */
export async function playMatrix(parts: Parts, options: MatrixOptions): Promise<MatrixResult> {
  const { stack, kube, cloud } = parts;
  await kube.create('EC2NodeClass', {
    metadata: { name: 'default' },
    spec: nodeClassSpec(stack.cluster),
  } as unknown as NewObject<Kinds['EC2NodeClass']>);
  const auditor = new Auditor(parts);
  await auditor.start();
  const run = new MatrixRun(options);
  const proxy = await TemporalProxy.start(stack.temporalAddress ?? '', run.points);
  const stopping = new AbortController();
  const cache = createClusterCache({ client: kube, kinds: ['Pod', 'Node', 'NodeClaim'] });
  const replicas: Replica[] = [];
  try {
    await cache.start(stopping.signal);
    const worker = await Replica.start(stack, {
      name: 'worker',
      role: 'worker',
      settings: { ...gates, TEMPORAL_ADDRESS: proxy.address },
    });
    replicas.push(worker);
    replicas.push(await Replica.start(stack, { name: 'operator', role: 'operator', settings: gates }));
    await run.play(worker, (pool) => new Lane({ kube, cloud, cache }, pool));
    await auditor.untilRest(restMs);
    stopping.abort();
    return { points: run.points.reached, deaths: run.deaths, rounds: run.rounds, problems: await auditor.verdict() };
  } finally {
    stopping.abort();
    await auditor.stop();
    for (const replica of replicas) await replica.kill();
    await proxy.stop();
  }
}
