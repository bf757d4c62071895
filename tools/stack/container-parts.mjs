// What `npm run suite -- install` needs besides the local stack: Helm, a kubelet, and replacements of public base images on machines
// that cannot pull them. Installed by install.mjs, which hands over its tools. Plain JavaScript on Node's built-ins alone.
import { chmodSync, cpSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const helmVersion = 'v3.21.4';
/** As ARG NODE_IMAGE of the Dockerfile says. */
const nodeVersion = '24.21.0';
const debian = 'bookworm';

/**
 * Runs in containers: a program that waits, for the pods' sandboxes. (Kubernetes' own is an image, too.)
 */
const pauseSource = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
}
`;

/** The components by name, as install.mjs has them. */
export function containerParts({ run, stamp, platform, go, kubernetes }) {
  return {
    kubelet: {
      needs: ['go'],
      version: () => `${kubernetes.version}-${stamp('1', platform, kubernetes.version)}`,
      async install(folder, { step }) {
        const bin = join(folder, 'bin');
        mkdirSync(bin, { recursive: true });
        const args = ['build', '-buildvcs=false', '-ldflags', kubernetes.ldflags];
        await step('downloading and compiling the kubelet', () =>
          run('go', [...args, '-o', `${bin}/`, 'k8s.io/kubernetes/cmd/kubelet'], { ...go, cwd: kubernetes.module }),
        );
        writeFileSync(join(folder, 'pause.go'), pauseSource);
        await step('compiling the program of the pods’ sandboxes', () =>
          run('go', [...args, '-o', join(bin, 'pause'), join(folder, 'pause.go')], { ...go, cwd: folder }),
        );
      },
      paths: (folder) => ({ kubelet: join(folder, 'bin/kubelet'), pause: join(folder, 'bin/pause') }),
    },

    helm: {
      needs: ['go'],
      version: () => `${helmVersion}-${stamp('1', platform, helmVersion)}`,
      async install(folder, { step }) {
        await step(`downloading and compiling Helm ${helmVersion}`, () =>
          run('go', ['install', '-ldflags', '-s -w', `helm.sh/helm/v3/cmd/helm@${helmVersion}`], {
            hint: go.hint,
            cwd: folder,
            env: { ...go.env, GOBIN: join(folder, 'bin') },
          }),
        );
      },
      paths: (folder) => ({ helm: join(folder, 'bin/helm') }),
    },

    // An archive for `docker import` as node:24-bookworm and node:24-bookworm-slim, of Debian's and npm's packages.
    'node-image': {
      needs: ['debootstrap'],
      version: () => `${nodeVersion}-${stamp('3', platform, nodeVersion, debian)}`,
      async install(folder, { step }) {
        const root = join(folder, 'root');
        await step(`debootstrapping ${debian}`, async () => {
          const site = await debianSite(run, debian);
          await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', debian, root, site], {});
        });
        await step(`adding Node ${nodeVersion} and npm`, () => addNode(root, run));
        await step('packing it', async () => {
          rmSync(join(root, 'var/cache/apt/archives'), { recursive: true, force: true });
          rmSync(join(root, 'var/lib/apt/lists'), { recursive: true, force: true });
          await run('tar', ['-C', root, '-cf', join(folder, 'node-image.tar'), '.'], {});
          rmSync(root, { recursive: true });
        });
      },
      paths: (folder) => ({ nodeImage: join(folder, 'node-image.tar') }),
    },
  };
}

/** Where apt-get has a release of Debian from. */
export async function debianSite(run, release) {
  const targets = await run('apt-get', ['indextargets', '--format', '$(SITE) $(RELEASE)'], {});
  const site = targets
    .split('\n')
    .find((line) => line.endsWith(` ${release}`))
    ?.split(' ')[0];
  if (site === undefined) throw new Error(`apt-get knows no site of ${release}.`);
  return site;
}

/** Node of npm's package `node-linux-*`, npm as it is here, and the certificates that this machine trusts. */
async function addNode(root, run) {
  const scratch = join(root, 'tmp/node');
  mkdirSync(scratch, { recursive: true });
  const name = `node-linux-${process.arch}`;
  await run('npm', ['install', '--prefix', scratch, '--ignore-scripts', '--no-save', `${name}@${nodeVersion}`], {});
  cpSync(join(scratch, 'node_modules', name, 'bin/node'), join(root, 'usr/local/bin/node'));
  chmodSync(join(root, 'usr/local/bin/node'), 0o755);
  rmSync(scratch, { recursive: true });
  const modules = (await run('npm', ['root', '--global'], {})).trim();
  const lib = join(root, 'usr/local/lib/node_modules/npm');
  cpSync(realpathSync(join(modules, 'npm')), lib, { recursive: true, dereference: true });
  for (const command of ['npm', 'npx']) {
    const script = join(root, 'usr/local/bin', command);
    writeFileSync(script, `#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/${command}-cli.js "$@"\n`);
    chmodSync(script, 0o755);
  }
  const trusted = process.env.SSL_CERT_FILE ?? '/etc/ssl/certs/ca-certificates.crt';
  cpSync(trusted, join(root, 'etc/ssl/certs/ca-certificates.crt'), { dereference: true });
  await run('chroot', [root, 'useradd', '--uid', '1000', '--create-home', 'node'], {});
}
