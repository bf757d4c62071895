import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { readState } from '../../tools/stack/stack-state.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/port.js';
import { buildImages, versions, type BuiltImages } from './images.js';
import { bridge, startNetwork } from './network.js';
import { startNode } from './node.js';
import { removeFolder, run } from './run.js';

export const namespace = 'stowage';
export const cluster = 'stowage-install';

/** A cluster of one real kubelet and simulated instances, and what installs into it. */
export interface InstallWorld {
  readonly stack: Stack;
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
  readonly client: Client;
  readonly images: BuiltImages;
  /** Values of the chart that fit this cluster. */
  readonly values: Readonly<Record<string, string>>;
  /** Host and port of the stack's Temporal, for pods. */
  readonly temporalAddress: string;
  helm(args: readonly string[]): Promise<string>;
  kubectl(args: readonly string[]): Promise<string>;
  readonly stop: () => Promise<void>;
}

/** Starts it; `say` hears what is being done, since building images takes minutes. */
export async function startInstallWorld(say: (line: string) => void): Promise<InstallWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-install-'));
  const stopping: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stopping.reverse()) await each();
    await removeFolder(folder);
  };
  try {
    const tools = await ensureToolchain(['kubelet', 'helm', 'node-image', 'temporal']);
    say('building the images');
    const images = await buildImages(folder, tools);
    say('starting the control plane, Temporal and the cloud');
    const parts = ['apiserver', 'controllers', 'temporal', 'cloud', 'joiner'] as const;
    const stack = await startStack({
      folder: join(folder, 'stack'),
      name: 'install',
      parts,
      cluster,
      containers: true,
    });
    stopping.push(() => stack.stop());
    const kubeconfig = stack.adminKubeconfig ?? '';
    const kube = createKubeClient({ kubeconfig, userAgent: 'install-test' });
    const { apiserver, proxy, temporal } = readState(stack.folder)!.ports;
    const network = await startNetwork(apiserver, kube);
    stopping.push(network.stop);
    const connection = await Connection.connect({ address: stack.temporalAddress ?? '' });
    stopping.push(async () => {
      kube.close();
      await connection.close();
    });
    say('starting containerd and the kubelet');
    const node = await startNode(folder, { kubelet: tools.kubelet ?? '', kubeconfig, archive: images.archive });
    stopping.push(node.stop);
    return {
      stack,
      images,
      kube,
      cloud: new CloudProxyControl(stack.awsEndpoint ?? ''),
      client: new Client({ connection }),
      values: valuesFor(stack, await network.publish(proxy)),
      temporalAddress: `${bridge.address}:${await network.publish(temporal)}`,
      helm: (args) => run(tools.helm ?? '', args, { env: { KUBECONFIG: kubeconfig }, cwd: repositoryRoot() }),
      kubectl: (args) => run(stack.kubectl ?? '', ['--kubeconfig', kubeconfig, ...args]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function valuesFor({ region, apiserver }: Stack, cloudPort: number): Record<string, string> {
  return {
    clusterName: cluster,
    'image.tag': versions[0],
    'image.pullPolicy': 'Never',
    'cloud.region': region,
    'cloud.interruptionQueue': cluster,
    'cloud.clusterEndpoint': apiserver ?? '',
    'settings.AWS_ENDPOINT_URL': `http://${bridge.address}:${cloudPort}`,
    'extraEnv[0].name': 'AWS_ACCESS_KEY_ID',
    'extraEnv[0].value': 'local',
    'extraEnv[1].name': 'AWS_SECRET_ACCESS_KEY',
    'extraEnv[1].value': 'local',
  };
}

/** As flags of Helm. Commas and equals signs in values are escaped. */
export const sets = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value.replaceAll(/[,=]/g, '\\$&')}`]);
