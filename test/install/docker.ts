import { copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, stopProcess, waitUntilReady } from '../../tools/stack/processes.js';
import { run } from './run.js';

/** npm and Node trust what this machine trusts; node-image has its certificates. */
const trust = 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt';

/** Debian's, which speaks to the engine's own BuildKit: a newer one earlier on the path would need a plugin. */
const client = '/usr/bin/docker';

/** A daemon of a test's own. */
export interface Docker {
  /** How others reach it. */
  readonly env: { readonly DOCKER_HOST: string; readonly DOCKER_BUILDKIT: string };
  run(args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts one that keeps everything in `folder`, and leaves the machine's network and firewall alone: builds use the host's network,
 * containers that talk to each other a network that compose makes.
 */
export async function startDocker(folder: string): Promise<Docker> {
  const socket = `unix://${join(folder, 'docker.sock')}`;
  const log = join(folder, 'dockerd.log');
  const record = launch(
    'dockerd',
    [
      `--data-root=${join(folder, 'docker')}`,
      `--exec-root=${join(folder, 'docker-run')}`,
      `--host=${socket}`,
      `--pidfile=${join(folder, 'docker.pid')}`,
      '--bridge=none',
      '--iptables=false',
      '--default-address-pool=base=10.214.0.0/16,size=24',
    ],
    { log, cwd: folder },
  );
  const env = { DOCKER_HOST: socket, DOCKER_BUILDKIT: '1' };
  const docker = (args: readonly string[]): Promise<string> => run(client, args, { env });
  await waitUntilReady('dockerd', record, log, () => docker(['info']).then(() => true));
  return { env, run: docker, stop: () => stopProcess(record, 15_000) };
}

const nodeImages = { BUILD_IMAGE: 'node:24-bookworm', NODE_IMAGE: 'node:24-bookworm-slim' };

/**
 * What the project's Dockerfiles build on, made of this machine's parts: what they pin by digest cannot be made. Gives the build's
 * arguments that name it.
 */
export async function importNodeImages(docker: Docker, nodeImage: string): Promise<typeof nodeImages> {
  await docker.run(['import', '--change', `ENV ${trust}`, nodeImage, nodeImages.NODE_IMAGE]);
  await docker.run(['tag', nodeImages.NODE_IMAGE, nodeImages.BUILD_IMAGE]);
  return nodeImages;
}

export interface StandIn {
  readonly tag: string;
  /**
   * Files beside its Dockerfile, by their names there; a folder is an archive `NAME.tar`, which `ADD` unpacks: its thousands of files are
   * written once, and keep their times, by which Python knows what it has compiled.
   */
  readonly files: Readonly<Record<string, string | { readonly text: string }>>;
  readonly dockerfile: string;
  /** As `linux/arm64`; default: that of this machine. */
  readonly platform?: string;
}

/** An image of what this machine has, under the name of a public one. */
export async function buildStandIn(docker: Docker, folder: string, standIn: StandIn): Promise<void> {
  const { tag, files, dockerfile, platform } = standIn;
  const context = join(folder, 'contexts', tag.replaceAll(/[/:]/g, '-'));
  mkdirSync(context, { recursive: true });
  writeFileSync(join(context, 'Dockerfile'), dockerfile);
  for (const [name, from] of Object.entries(files)) {
    const to = join(context, name);
    if (typeof from !== 'string') writeFileSync(to, from.text, { mode: 0o755 });
    else if (statSync(from).isDirectory()) await run('tar', ['-C', from, '-cf', `${to}.tar`, '.']);
    else copyFileSync(from, to);
  }
  const of = platform === undefined ? [] : ['--platform', platform];
  await docker.run(['build', ...of, '--network', 'none', '--tag', tag, context]);
}
