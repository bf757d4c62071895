// The control plane and the Temporal server of the local stack: from the projects' own releases where their checksums are pinned
// (prebuilt.json) and they can be downloaded, from Go modules otherwise. Plain JavaScript on Node's built-ins alone; installed by install.mjs,
// which hands over its tools.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { downloadOrCompile } from './prebuilt.mjs';

export const kubernetesVersion = 'v1.36.1';
const temporalCliVersion = 'v1.5.1';

/** What goes into one call of the compiler: it holds much of Kubernetes in memory. */
const groups = [
  ['etcd', ['go.etcd.io/etcd/server/v3']],
  ['kube-apiserver and kubectl', ['k8s.io/kubernetes/cmd/kube-apiserver', 'k8s.io/kubernetes/cmd/kubectl']],
  [
    'kube-scheduler, kube-controller-manager and KWOK',
    [
      'k8s.io/kubernetes/cmd/kube-scheduler',
      'k8s.io/kubernetes/cmd/kube-controller-manager',
      'sigs.k8s.io/kwok/cmd/kwok',
    ],
  ],
];

const stages = [
  'node/fast/node-initialize',
  'node/heartbeat-with-lease/node-heartbeat-with-lease',
  'pod/fast/pod-ready',
  'pod/fast/pod-complete',
  'pod/fast/pod-delete',
];

/** kubectl refuses an empty version string. */
export function kubernetesFlags() {
  const [major, minor] = kubernetesVersion.slice(1).split('.');
  const stamps = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor };
  const flags = Object.entries(stamps).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  return `-s -w ${flags.join(' ')}`;
}

async function compileKubernetes(folder, { run, step, go, module: cwd }) {
  const options = { ...go, cwd };
  const bin = `${join(folder, 'bin')}/`;
  mkdirSync(bin, { recursive: true });
  for (const [title, packages] of groups) {
    const args = ['build', '-buildvcs=false', '-ldflags', kubernetesFlags(), '-o', bin, ...packages];
    await step(`downloading and compiling ${title}`, () => run('go', args, options));
  }
  renameSync(join(bin, 'server'), join(bin, 'etcd'));
  const kwok = (await run('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kwok'], options)).trim();
  mkdirSync(join(folder, 'stages'));
  for (const stage of stages) {
    // The module cache is read-only; our copy must not be, or it could not be removed again.
    const copy = join(folder, 'stages', `${basename(stage)}.yaml`);
    writeFileSync(copy, readFileSync(join(kwok, 'kustomize/stage', `${stage}.yaml`)));
  }
}

async function compileTemporal(folder, { run, step, go }) {
  await step(`downloading and compiling the Temporal CLI ${temporalCliVersion} with its dev server and UI`, () =>
    run('go', ['install', '-ldflags', '-s -w', `github.com/temporalio/cli/cmd/temporal@${temporalCliVersion}`], {
      hint: go.hint,
      cwd: tmpdir(),
      env: { ...go.env, GOBIN: join(folder, 'bin') },
    }),
  );
}

/** The components by name, as install.mjs has them. `pins(name)`: what is downloaded of one. */
export function clusterParts({ run, stamp, platform, go, module, pins, checkPrerequisites }) {
  const sums = ['go.mod', 'go.sum'].map((name) => readFileSync(join(module, name), 'utf8'));
  /** Go is asked for where it has to be compiled, which may be for want of a download. */
  const shortest = (name, compile) => ({
    needs: pins(name) === undefined ? ['go'] : [],
    install: (folder, { step, say }) =>
      downloadOrCompile({
        ...{ pins: pins(name), folder, step, say },
        compile: () => {
          checkPrerequisites(['go']);
          return compile(folder, { run, step, go, module });
        },
      }),
  });
  return {
    kubernetes: {
      ...shortest('kubernetes', compileKubernetes),
      version: () => `${kubernetesVersion}-${stamp('2', platform, kubernetesVersion, ...sums)}`,
      paths: (folder) => ({
        etcd: join(folder, 'bin/etcd'),
        apiserver: join(folder, 'bin/kube-apiserver'),
        scheduler: join(folder, 'bin/kube-scheduler'),
        controllerManager: join(folder, 'bin/kube-controller-manager'),
        kubectl: join(folder, 'bin/kubectl'),
        kwok: join(folder, 'bin/kwok'),
        kwokStages: join(folder, 'stages'),
      }),
    },

    temporal: {
      ...shortest('temporal', compileTemporal),
      version: () => `${temporalCliVersion}-${stamp('1', platform, temporalCliVersion)}`,
      paths: (folder) => ({ temporal: join(folder, 'bin/temporal') }),
    },
  };
}
