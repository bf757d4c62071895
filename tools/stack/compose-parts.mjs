// What the test of docker-compose.yml needs besides `npm run suite -- install`'s parts on machines that cannot pull public images: Docker's
// compose plugin, Temporal's server with its tools and UI, and a Debian with PostgreSQL and Python. Plain JavaScript on Node's built-ins
// alone; installed by install.mjs.
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { debianSite } from './container-parts.mjs';

const debian = 'bookworm';
/** As docker-compose.yml names their images. */
const temporalServerVersion = 'v1.29.1';
const temporalUiVersion = 'v2.42.1';
const packages = ['ca-certificates', 'hostname', 'postgresql', 'python3'];

/** The components by name, as install.mjs has them. */
export function composeParts({ run, stamp, platform, go, sources }) {
  const moduleFolder = async (module) =>
    JSON.parse(await run('go', ['mod', 'download', '-json', module], { ...go, cwd: sources })).Dir;
  return {
    compose: {
      needs: ['go'],
      version: () => stamp('1', platform, readFileSync(join(sources, 'go.sum'), 'utf8')),
      async install(folder, { step }) {
        await step('downloading and compiling Docker Compose', () =>
          run(
            'go',
            [
              ...['build', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(folder, 'bin/docker-compose')],
              'github.com/docker/compose/v2/cmd',
            ],
            { ...go, cwd: sources },
          ),
        );
      },
      paths: (folder) => ({ compose: join(folder, 'bin/docker-compose') }),
    },

    'temporal-server': {
      needs: ['go'],
      version: () => `${temporalServerVersion}-${stamp('1', platform, temporalServerVersion, temporalUiVersion)}`,
      async install(folder, { step }) {
        const server = `go.temporal.io/server@${temporalServerVersion}`;
        const ui = `github.com/temporalio/ui-server/v2@${temporalUiVersion}`;
        const program = (module, path) => {
          const [name, version] = module.split('@');
          return `${name}/${path}@${version}`;
        };
        const install = (name, what) =>
          step(`compiling ${name}`, async () => {
            const options = { hint: go.hint, cwd: folder, env: { ...go.env, GOBIN: join(folder, 'made') } };
            await run('go', ['install', '-ldflags', '-s -w', what], options);
            cpSync(join(folder, 'made', what.split('@')[0].split('/').at(-1)), join(folder, 'bin', name));
            rmSync(join(folder, 'made'), { recursive: true });
          });
        mkdirSync(join(folder, 'bin'), { recursive: true });
        await install('temporal-server', program(server, 'cmd/server'));
        await install('temporal-sql-tool', program(server, 'cmd/tools/sql'));
        await install('temporal-ui', program(ui, 'cmd/server'));
        // The module cache is read-only; our copies must not be, or they could not be removed again.
        cpSync(join(await moduleFolder(server), 'schema/postgresql/v12'), join(folder, 'schema'), { recursive: true });
        await run('chmod', ['-R', 'u+w', join(folder, 'schema')], {});
      },
      paths: (folder) => ({ temporalServer: folder }),
    },

    // An archive for `docker import`.
    'services-image': {
      needs: ['debootstrap'],
      version: () => stamp('1', platform, debian, ...packages),
      async install(folder, { step }) {
        const root = join(folder, 'root');
        await step(`debootstrapping ${debian} with ${packages.join(', ')}`, async () => {
          const site = await debianSite(run, debian);
          await run('debootstrap', ['--variant=minbase', `--include=${packages.join(',')}`, debian, root, site], {});
        });
        await step('packing it', async () => {
          rmSync(join(root, 'var/cache/apt/archives'), { recursive: true, force: true });
          rmSync(join(root, 'var/lib/apt/lists'), { recursive: true, force: true });
          await run('tar', ['-C', root, '-cf', join(folder, 'services-image.tar'), '.'], {});
          rmSync(root, { recursive: true });
        });
      },
      paths: (folder) => ({ servicesImage: join(folder, 'services-image.tar') }),
    },
  };
}
