import type { Component, StackContext } from './components.js';
import { answers } from './http.js';
import { kubernetesPaths } from './kubernetes.js';
import { programPath } from './programs.js';

/** The process that plays the kubelets of the cluster's instances. */
export async function joinerComponent(context: StackContext): Promise<Component> {
  const aws = `http://127.0.0.1:${context.ports.proxy}`;
  return {
    name: 'node-joiner',
    part: 'joiner',
    address: '-',
    command: process.execPath,
    args: [
      '--enable-source-maps',
      await programPath('node-joiner'),
      `--aws=${aws}`,
      `--kubeconfig=${kubernetesPaths(context).adminKubeconfig}`,
      `--cluster=${context.cluster}`,
      `--region=${context.region}`,
    ],
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    // It reports itself to the proxy's control API once it follows the instances.
    ready: () => answers(`${aws}/_stowage/joiner`),
    graceMs: 3000,
  };
}
