import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, stopProcess, waitUntilReady, type ProcessRecord } from '../../tools/stack/processes.js';
import { sandboxImage } from './images.js';
import { bridge } from './network.js';
import { run } from './run.js';

export const nodeName = 'kubelet-0';

export interface RealNode {
  /** Ends pods, containers and processes. */
  readonly stop: () => Promise<void>;
}

/** containerd and a kubelet that registers with the API server of `kubeconfig`; nothing but what tolerates `CriticalAddonsOnly` fits. */
export async function startNode(
  folder: string,
  { kubelet, kubeconfig, archive }: { kubelet: string; kubeconfig: string; archive: string },
): Promise<RealNode> {
  const socket = join(folder, 'containerd.sock');
  const containerd = await startContainerd(folder, socket);
  const ctr = (args: readonly string[]): Promise<string> =>
    run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args]);
  await ctr(['images', 'import', archive]);
  const record = await startKubelet(folder, { kubelet, kubeconfig, socket });
  return {
    stop: async () => {
      await stopProcess(record, 10_000);
      await endContainers(ctr);
      await stopProcess(containerd, 10_000);
    },
  };
}

async function startContainerd(folder: string, socket: string): Promise<ProcessRecord> {
  const networks = join(folder, 'cni');
  mkdirSync(networks, { recursive: true });
  writeFileSync(join(networks, '10-bridge.conflist'), JSON.stringify(network(folder)));
  const config = join(folder, 'containerd.toml');
  writeFileSync(
    config,
    `version = 2
root = "${join(folder, 'containerd')}"
state = "${join(folder, 'containerd-run')}"
[grpc]
address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${sandboxImage}"
# Not every machine lets its root lower these.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${networks}"
`,
  );
  const log = join(folder, 'containerd.log');
  const record = launch('containerd', ['--config', config], { log, cwd: folder });
  await waitUntilReady('containerd', record, log, () => run('ctr', ['--address', socket, 'version']).then(() => true));
  return record;
}

const network = (folder: string): object => ({
  cniVersion: '0.4.0',
  name: 'stowage-test',
  plugins: [
    {
      type: 'bridge',
      bridge: bridge.name,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: bridge.subnet, rangeStart: bridge.address.replace(/1$/, '10'), gateway: bridge.address }]],
        routes: [{ dst: '0.0.0.0/0' }],
        dataDir: join(folder, 'addresses'),
      },
    },
  ],
});

async function startKubelet(
  folder: string,
  { kubelet, kubeconfig, socket }: { kubelet: string; kubeconfig: string; socket: string },
): Promise<ProcessRecord> {
  const config = join(folder, 'kubelet.json');
  const settings = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: bridge.address,
    healthzBindAddress: '127.0.0.1',
    healthzPort: 10_948,
    containerRuntimeEndpoint: `unix://${socket}`,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    clusterDNS: [bridge.address],
    clusterDomain: 'cluster.local',
    resolvConf: '',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    oomScoreAdj: 0,
    // Tests have room of their own.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    registerWithTaints: [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }],
  };
  writeFileSync(config, JSON.stringify(settings));
  const log = join(folder, 'kubelet.log');
  const args = [
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${bridge.address}`,
    `--cert-dir=${join(folder, 'kubelet-certificates')}`,
  ];
  const record = launch(kubelet, args, { log, cwd: folder });
  await waitUntilReady('kubelet', record, log, async () => (await fetch('http://127.0.0.1:10948/healthz')).ok);
  return record;
}

/** Containers outlive both containerd and kubelet. */
async function endContainers(ctr: (args: readonly string[]) => Promise<string>): Promise<void> {
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
  for (const id of lines(await ctr(['tasks', 'list', '--quiet'])))
    await ctr(['tasks', 'delete', '--force', id]).catch(() => '');
  for (const id of lines(await ctr(['containers', 'list', '--quiet'])))
    await ctr(['containers', 'delete', id]).catch(() => '');
}
