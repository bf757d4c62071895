import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createKubeClient } from '../../kube/client.js';
import { CloudProxyControl } from './cloud-proxy/control.js';
import type { Narrator } from './demo/narrator.js';
import { repositoryRoot } from './paths.js';
import type { Setting } from './stage.js';

/** As docker-compose.yml publishes them. */
const published = {
  cluster: 'stowage-local',
  temporalAddress: '127.0.0.1:7233',
  temporalUiUrl: 'http://localhost:8233',
  awsEndpoint: 'http://127.0.0.1:5005',
} as const;

async function docker(args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('docker', args, { cwd: repositoryRoot(), maxBuffer: 64 << 20 });
    return stdout.trim();
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(stderr.trim().split('\n').slice(-20).join('\n') || String(error), { cause: error });
  }
}

/** Whether containers can be run here: a daemon answers, and Compose is there. */
export async function runsContainers(): Promise<boolean> {
  try {
    await docker(['info']);
    await docker(['compose', 'version']);
    return true;
  } catch {
    return false;
  }
}

/** Runs docker-compose.yml, has `play` play on it, and takes it down with its volumes in every case. */
export async function inContainers(
  { keep }: { readonly keep: boolean },
  narrator: Narrator,
  play: (setting: Setting) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-demo-'));
  const down = (): Promise<string> => docker(['compose', 'down', '--volumes']);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
      narrator.plain('\nStopping what was started ...');
      void down().finally(() => process.exit(130));
    });
  }
  let played = false;
  try {
    narrator.chapter('A real control plane, a real Temporal server, an EC2 API, and Stowage, in containers');
    narrator.act('docker compose up --build --wait');
    await docker(['compose', 'up', '--build', '--wait']);
    narrator.see(`everything serves; watch along in the Temporal UI: ${published.temporalUiUrl}`);
    const kubeconfig = join(folder, 'kubeconfig');
    await docker(['compose', 'cp', 'stowage:/shared/host.kubeconfig', kubeconfig]);
    await play({
      stack: published,
      narrator,
      kube: createKubeClient({ kubeconfig, userAgent: 'stowage-demo' }),
      cloud: new CloudProxyControl(published.awsEndpoint),
      apply,
      failure: () => undefined,
    });
    played = true;
    if (keep) narrator.plain(explore);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    if (!(keep && played) && !interrupted.signal.aborted) {
      narrator.plain('\nStopping what was started ...');
      await down();
    }
  }
}

/** By the kubectl of the stack: a machine with Docker need not have one. */
async function apply(file: string): Promise<void> {
  const folder = join(repositoryRoot(), dirname(file));
  const kubectl = ['--kubeconfig=/shared/admin.kubeconfig', 'apply', `--filename=/files/${basename(file)}`];
  await docker(['compose', 'run', '--rm', '--no-deps', '--volume', `${folder}:/files:ro`, 'manifests', ...kubectl]);
}

const explore = [
  '',
  'Everything keeps running:',
  `  Temporal UI   ${published.temporalUiUrl}`,
  '  kubeconfig    docker compose cp stowage:/shared/host.kubeconfig ./stowage.kubeconfig',
  '  stop it with  docker compose down --volumes',
].join('\n');
