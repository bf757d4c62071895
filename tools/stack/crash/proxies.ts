import { KubernetesProxy } from '../kubernetes-proxy/proxy.js';
import { kubernetesThrough } from '../network/redirected.js';
import type { Stack } from '../stack.js';
import { TemporalProxy } from '../temporal-proxy/proxy.js';
import type { MatrixRun } from './run.js';

type Settings = Readonly<Record<string, string>>;

/** What stands between the processes that die and what they talk to. */
export class Proxies {
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
