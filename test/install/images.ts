import { mkdirSync, writeFileSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../devstack/paths.js';
import { launch, stopProcess, waitUntilReady } from '../../devstack/processes.js';
import type { Toolchain } from '../../devstack/toolchain.js';
import { run } from './run.js';

/** Images of one version each, of the project's Dockerfile. */
export const versions = ['0.1.0-first', '0.1.0-second'] as const;
export const temporalImage = 'temporalio/temporal:1.5.1';
export const sandboxImage = 'stowage-test/pause:1';

/**
 * Builds all images into an archive for `ctr images import`. The bases are stand-ins of the same names, from Debian's and npm's
 * packages, so that nothing is pulled.
 */
export async function buildImages(folder: string, tools: Partial<Toolchain>): Promise<string> {
  const docker = await startDocker(folder);
  try {
    await docker.run(['import', '--change', `ENV ${trust}`, tools.nodeImage ?? '', 'node:24-bookworm-slim']);
    await docker.run(['tag', 'node:24-bookworm-slim', 'node:24-bookworm']);
    for (const version of versions) {
      const args = ['build', '--network', 'host', '--build-arg', `VERSION=${version}`, '--tag', `stowage:${version}`];
      await docker.run([...args, repositoryRoot()]);
    }
    await buildOne(
      docker,
      folder,
      temporalImage,
      tools.temporal ?? '',
      'FROM node:24-bookworm-slim\nCOPY temporal /usr/local/bin/\n',
    );
    await buildOne(
      docker,
      folder,
      sandboxImage,
      tools.pause ?? '',
      'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n',
    );
    const archive = join(folder, 'images.tar');
    await docker.run([
      'save',
      '--output',
      archive,
      ...versions.map((version) => `stowage:${version}`),
      temporalImage,
      sandboxImage,
    ]);
    return archive;
  } finally {
    await docker.stop();
  }
}

/** npm and Node trust what this machine trusts; node-image has its certificates. */
const trust = 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt';

interface Docker {
  run(args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

async function buildOne(docker: Docker, folder: string, tag: string, program: string, text: string): Promise<void> {
  const context = join(folder, 'contexts', tag.replaceAll(/[/:]/g, '-'));
  mkdirSync(context, { recursive: true });
  writeFileSync(join(context, 'Dockerfile'), text);
  copyFileSync(program, join(context, program.split('/').at(-1)!));
  await docker.run(['build', '--network', 'none', '--tag', tag, context]);
}

/** A daemon of its own, without networks: builds use the host's. */
async function startDocker(folder: string): Promise<Docker> {
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
    ],
    { log, cwd: folder },
  );
  // The builder that comes with the engine; the other one is a plugin.
  const env = { DOCKER_HOST: socket, DOCKER_BUILDKIT: '0' };
  const docker = (args: readonly string[]): Promise<string> => run('docker', args, { env });
  await waitUntilReady('dockerd', record, log, () => docker(['info']).then(() => true));
  return { run: docker, stop: () => stopProcess(record, 15_000) };
}
