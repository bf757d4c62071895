import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { ensureToolchain, type Toolchain } from '../../tools/stack/toolchain.js';
import { createKubeClient } from '../../kube/client.js';
import { isRunning, within } from '../live/world.js';
import { buildComposeImages } from './compose-images.js';
import { importNodeImages, startDocker, type Docker } from './docker.js';
import { removeFolder, run } from './run.js';

// docker-compose.yml as it is, on a separate Docker daemon. Public images are replaced by ones of the same names, made from this machine's programs.
const lacks = process.env.STOWAGE_COMPOSE_LACKS ?? 'it is started by npm run suite -- install';
const suite = lacks === '' ? describe : describe.skip;
const minutes = (count: number): number => count * 60_000;
const say = (line: string): void => void process.stderr.write(`  ${line}\n`);

interface Service {
  readonly image: string;
  readonly build?: unknown;
}
const file = join(repositoryRoot(), 'docker-compose.yml');
const { services } = parse(readFileSync(file, 'utf8'), { merge: true }) as { services: Record<string, Service> };

suite(`docker compose up --build --wait${lacks === '' ? '' : ` (skipped: ${lacks})`}`, () => {
  let folder = '';
  let docker: Docker | undefined;
  let tools: Toolchain;
  let made: string[] = [];
  let files: readonly string[] = [];
  const compose = (...args: string[]): Promise<string> =>
    run(tools.compose, [...files.flatMap((each) => ['--file', each]), ...args], {
      env: { ...docker?.env },
      cwd: repositoryRoot(),
    });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stowage-compose-'));
    files = [file, join(folder, 'host-network.yml')];
    const parts = [
      'kubernetes',
      'temporal',
      'moto',
      'node-image',
      'compose',
      'temporal-server',
      'services-image',
    ] as const;
    tools = (await ensureToolchain(parts)) as Toolchain;
    docker = await startDocker(folder);
    say('building replacements of the public images');
    const args = await importNodeImages(docker, tools.nodeImage);
    made = await buildComposeImages(docker, folder, tools);
    // This machine's package registries may be reached from the host alone.
    const built = Object.entries(services).filter(([, { build }]) => build !== undefined);
    const build = { network: 'host', args };
    const overrides = { services: Object.fromEntries(built.map(([name]) => [name, { build }])) };
    writeFileSync(files[1]!, stringify(overrides));
    // Services that share an image would each build it: the first of them does, the others find it made.
    say('building the images of the project');
    for (const name of ['keys', 'stowage']) await compose('build', name);
  }, minutes(20));

  afterAll(async () => {
    if (docker !== undefined) {
      await compose('down', '--volumes', '--timeout', '5').catch(() => '');
      await docker.stop();
    }
    await removeFolder(folder);
  }, minutes(10));

  test('docker-compose.yml: every image that it names and does not build is replaced, and none is pulled', () => {
    const named = Object.values(services).filter(({ build }) => build === undefined);

    expect([...new Set(named.map(({ image }) => image))].sort()).toEqual([...made].sort());
  });

  test(
    'compose: all services start, and a pending pod gets a node',
    async () => {
      const began = Date.now();
      try {
        await compose('up', '--build', '--wait', '--wait-timeout', '300');
      } catch (error) {
        throw new Error(`${String(error)}\n${await compose('logs', '--tail', '15')}`, { cause: error });
      }
      say(`up ${Math.round((Date.now() - began) / 1000)} s after docker compose up began`);
      say(await compose('ps', '--all', '--format', 'table {{.Service}}\t{{.Image}}\t{{.Status}}'));

      const kubeconfig = join(folder, 'stowage.kubeconfig');
      await compose('cp', 'stowage:/shared/host.kubeconfig', kubeconfig);
      const kube = createKubeClient({ kubeconfig, userAgent: 'compose-test' });
      await run(tools.kubectl, [
        '--kubeconfig',
        kubeconfig,
        'apply',
        '-f',
        join(repositoryRoot(), 'examples/nodepool.yaml'),
      ]);
      await kube.create('Deployment', deploymentOf('web', 3, { cpu: '1', memory: '1Gi' }));
      const node = await observe(
        'pods of web on a node',
        async () => {
          const pods = await kube.list('Pod', { namespace: 'default', labelSelector: 'app=web' });
          return pods.length === 3 && pods.every(isRunning) ? pods[0]?.spec.nodeName : undefined;
        },
        within(120),
        () => compose('logs', '--tail', '10', 'stowage', 'node-joiner', 'kwok', 'cloud-proxy'),
      );
      kube.close();

      expect(node).toMatch(/compute\.internal$/);
      say(`pods run ${Math.round((Date.now() - began) / 1000)} s after docker compose up began`);
    },
    minutes(9),
  );

  test(
    'compose: SIGTERM stops Stowage gracefully within its grace period',
    async () => {
      await compose('stop', '--timeout', '10', 'stowage');
      const said = await compose('ps', '--all', '--format', 'json', 'stowage');

      expect(JSON.parse(said)).toMatchObject({ State: 'exited', ExitCode: 0 });
      expect(await compose('logs', '--tail', '1', 'stowage')).toContain('"msg":"stopped"');
    },
    minutes(2),
  );

  test(
    'npm run demo uses compose where Docker runs, prints its steps, and removes everything at the end',
    async () => {
      await compose('down', '--volumes', '--timeout', '5');
      const config = join(folder, 'docker-config');
      mkdirSync(join(config, 'cli-plugins'), { recursive: true });
      symlinkSync(tools.compose, join(config, 'cli-plugins/docker-compose'));
      const began = Date.now();
      const output = await run('npm', ['run', '-s', 'demo'], {
        env: { ...docker?.env, DOCKER_CONFIG: config, COMPOSE_FILE: files.join(':') },
        cwd: repositoryRoot(),
      });

      expect(output).toContain('Docker runs here: the shortest way.');
      expect(output).toContain('What happened to each node');
      expect(await compose('ps', '--all', '--quiet')).toBe('');
      say(`npm run demo took ${Math.round((Date.now() - began) / 1000)} s`);
    },
    minutes(12),
  );
});
