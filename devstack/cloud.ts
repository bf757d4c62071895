import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tool, type Component, type StackContext } from './components.js';
import { machineImages } from './cloud-proxy/images.js';
import { answers } from './http.js';
import { nodeRole } from './node-class.js';
import { repositoryRoot } from './paths.js';
import { programPath } from './programs.js';
export { seedCloud } from './seed.js';

/** moto, and the cloud proxy in front of it, in starting order. */
export async function cloudComponents(context: StackContext): Promise<Component[]> {
  return [moto(context), await proxy(context)];
}

function moto(context: StackContext): Component {
  const port = context.ports.moto;
  const data = join(context.folder, 'data/moto');
  mkdirSync(data, { recursive: true });
  const images = join(data, 'images.json');
  writeFileSync(images, JSON.stringify(machineImages()));
  return {
    name: 'moto',
    part: 'cloud',
    address: `http://127.0.0.1:${port}`,
    command: tool(context, 'motoPython'),
    args: ['-m', 'moto.server', '--host=127.0.0.1', `--port=${port}`],
    env: {
      MOTO_AMIS_PATH: images,
      MOTO_ENABLE_AMI_VALIDATION: '1',
      MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION: '1',
      PYTHONDONTWRITEBYTECODE: '',
      PYTHONUNBUFFERED: '1',
    },
    ready: () => answers(`http://127.0.0.1:${port}/moto-api/`),
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
  const { ports, cluster, region, folder } = context;
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
      `--moto=http://127.0.0.1:${ports.moto}`,
      `--cluster=${cluster}`,
      `--region=${region}`,
      `--cluster-endpoint=https://127.0.0.1:${ports.apiserver}`,
      `--cluster-certificate=${join(folder, 'data/certificates/apiserver.crt')}`,
      `--answers=${tool(context, 'motoAnswers')}`,
      `--policy=${join(repositoryRoot(), 'deploy/iam-policy.json')}`,
      `--node-role=${nodeRole(cluster)}`,
      ...(context.proxy === true ? [`--egress=${egressFolder(context)}`] : []),
    ],
    ready: () => answers(`${url}/_stowage/health`),
    graceMs: 3000,
  };
}
