import { createClusterCache } from '../../../kube/cache.js';
import type { Kinds, KubeClient, NewObject } from '../../../kube/port.js';
import { Auditor } from '../auditor/auditor.js';
import type { CloudProxyControl } from '../cloud-proxy/control.js';
import { nodeClassSpec } from '../node-class.js';
import { Replica, type ReplicaOptions } from '../replica.js';
import type { Stack } from '../stack.js';
import type { CrashPoint } from './deaths.js';
import { Lane } from './lane.js';
import type { MatrixOptions } from './options.js';
import { MatrixRun } from './run.js';
import type { Victim } from './victim.js';
import { KubernetesProxy } from '../kubernetes-proxy/proxy.js';
import { kubernetesThrough } from '../network/redirected.js';
import { TemporalProxy } from '../temporal-proxy/proxy.js';

type Settings = Readonly<Record<string, string>>;

/** The proxies between the killed processes and their servers. */
class Proxies {
  private constructor(
    private readonly stack: Stack,
    private readonly ofWorker: TemporalProxy,
    private readonly ofOperator: TemporalProxy,
    private readonly kubernetes: KubernetesProxy,
  ) {}

  static async start(stack: Stack, run: MatrixRun): Promise<Proxies> {
    const { temporalAddress = '', apiserver: server = '', stowageKubeconfig: kubeconfig = '' } = stack;
    return new Proxies(
      stack,
      await TemporalProxy.start(temporalAddress, run.workerHooks),
      await TemporalProxy.start(temporalAddress, run.operatorHooks),
      await KubernetesProxy.start({ server, kubeconfig }, (write) => run.operatorHooks.written(write)),
    );
  }

  get workerSettings(): Settings {
    return { TEMPORAL_ADDRESS: this.ofWorker.address };
  }

  get operatorSettings(): Settings {
    return {
      TEMPORAL_ADDRESS: this.ofOperator.address,
      KUBECONFIG: kubernetesThrough(this.stack, this.kubernetes.address),
    };
  }

  async stop(): Promise<void> {
    for (const proxy of [this.ofWorker, this.ofOperator, this.kubernetes]) await proxy.stop();
  }
}

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
/** Without threads it packs in place, and need not warm up a thread's code at every start: two thirds of its processor time. */
const inPlace = { PACKING_THREADS: '0' };
const restMs = 10 * 60_000;

/**
 * Scenarios side by side on one stack, again and again, while the worker is killed by SIGKILL at every step that any of their
 * workflows comes to, and the operator after each kind of write, once each, and started again. The auditor watches throughout.
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
  const proxies = await Proxies.start(stack, run);
  const stopping = new AbortController();
  const cache = createClusterCache({ client: kube, kinds: ['Pod', 'Node', 'NodeClaim'] });
  const replicas: Replica[] = [];
  const embody = async (victim: Victim, options: Omit<ReplicaOptions, 'name'>): Promise<void> => {
    const replica = await Replica.start(stack, { name: victim.name, ...options });
    replicas.push(replica);
    victim.embody(replica);
  };
  try {
    await cache.start(stopping.signal);
    await embody(run.worker, { role: 'worker', settings: { ...gates, ...inPlace, ...proxies.workerSettings } });
    await embody(run.operator, { role: 'operator', settings: { ...gates, ...proxies.operatorSettings } });
    await run.play((pool) => new Lane({ kube, cloud, cache }, pool));
    await auditor.untilRest(restMs);
    stopping.abort();
    const { points, deaths, rounds } = run;
    return { points, deaths, rounds, problems: await auditor.verdict() };
  } finally {
    stopping.abort();
    await auditor.stop();
    for (const replica of replicas) await replica.kill();
    await proxies.stop();
  }
}
