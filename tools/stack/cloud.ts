import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Component, type StackContext, tool } from './components.js';
import { answers } from './http.js';
import { nodeRole } from './node-class.js';
import { repositoryRoot } from './paths.js';
import { programPath } from './programs.js';
import { machineImages } from './cloud-proxy/images.js';

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

/** How moto's Python runs it on a port of loopback. `folder` holds the machine images that it knows. */
export function motoProgram(
  folder: string,
  port: number,
): Pick<Component, 'address' | 'args' | 'ready'> & { env: Record<string, string> } {
  mkdirSync(folder, { recursive: true });
  const images = join(folder, 'images.json');
  writeFileSync(images, JSON.stringify(machineImages()));
  const address = `http://127.0.0.1:${port}`;
  return {
    address,
    args: ['-m', 'moto.server', '--host=127.0.0.1', `--port=${port}`],
    env: {
      MOTO_AMIS_PATH: images,
      MOTO_ENABLE_AMI_VALIDATION: '1',
      MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION: '1',
      PYTHONDONTWRITEBYTECODE: '',
      PYTHONUNBUFFERED: '1',
    },
    ready: () => answers(`${address}/moto-api/`),
  };
}
