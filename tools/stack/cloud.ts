import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { tool, type Component, type StackContext } from './components.js';
import { answers } from './http.js';
import { motoProgram } from './moto.js';
import { nodeRole } from './node-class.js';
import { repositoryRoot } from './paths.js';
import { programPath } from './programs.js';
export { seedCloud } from './seed.js';

/** moto, unless it is shared, and the cloud proxy in front of it, in starting order. */
export async function cloudComponents(context: StackContext): Promise<Component[]> {
  return [...(context.moto === undefined ? [moto(context)] : []), await proxy(context)];
}

export const motoEndpoint = ({ moto, ports }: StackContext): string =>
  moto?.endpoint ?? `http://127.0.0.1:${ports.moto}`;

function moto(context: StackContext): Component {
  const port = context.ports.moto;
  return {
    name: 'moto',
    part: 'cloud',
    command: tool(context, 'motoPython'),
    ...motoProgram(join(context.folder, 'data/moto'), port),
    graceMs: 3000,
  };
}

/** Where the certificates of the HTTP proxy are. */
export function egressFolder({ folder }: Pick<StackContext, 'folder'>): string {
  const path = join(folder, 'data/egress');
  mkdirSync(path, { recursive: true });
  return path;
}

async function proxy(context: StackContext): Promise<Component> {
  const { ports, cluster, region, folder, instanceFamilies } = context;
  const url = `http://127.0.0.1:${ports.proxy}`;
  return {
    name: 'cloud-proxy',
    part: 'cloud',
    address: url,
    command: process.execPath,
    args: [
      '--enable-source-maps',
      await programPath('cloud-proxy'),
      `--port=${ports.proxy}`,
      `--moto=${motoEndpoint(context)}`,
      ...(context.moto === undefined ? [] : [`--moto-account=${context.moto.account}`]),
      `--cluster=${cluster}`,
      `--region=${region}`,
      `--cluster-endpoint=https://127.0.0.1:${ports.apiserver}`,
      `--cluster-certificate=${join(folder, 'data/certificates/apiserver.crt')}`,
      `--answers=${tool(context, 'motoAnswers')}`,
      `--policy=${join(repositoryRoot(), 'deploy/iam-policy.json')}`,
      `--node-role=${nodeRole(cluster)}`,
      ...(instanceFamilies === undefined ? [] : [`--families=${instanceFamilies.join()}`]),
      ...(context.proxy === true ? [`--egress=${egressFolder(context)}`] : []),
    ],
    ready: () => answers(`${url}/_stowage/health`),
    graceMs: 3000,
  };
}
