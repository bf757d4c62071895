import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { tool, type StackContext } from './components.js';
import { asAdmin, kubernetesPaths } from './kubernetes.js';
import { repositoryRoot } from './paths.js';
import { messageOf } from '../core/error-message.js';

/** Runs a program with `input`, and resolves to its output or rejects with what it wrote on stderr. */
function run(command: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { encoding: 'utf8', maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim() === '' ? error.message : stderr.trim()));
    });
    child.stdin?.end(input);
  });
}

/** Applies the shipped RBAC manifest, the KWOK addition and Stowage's CRDs, and waits until the CRDs are served. */
export async function applyManifests(context: StackContext, progress: (line: string) => void): Promise<void> {
  const root = repositoryRoot();
  const kubectl = [
    `--kubeconfig=${kubernetesPaths(context).adminKubeconfig}`,
    'apply',
    '--server-side',
    '--force-conflicts',
  ];
  const files = ['deploy/rbac.yaml', 'devstack/kubernetes/rbac-kwok.yaml'].map(
    (file) => `--filename=${join(root, file)}`,
  );
  await run(tool(context, 'kubectl'), [...kubectl, ...files]);
  if (!existsSync(join(root, 'cli/main.ts')) && !existsSync(join(root, 'dist/cli/main.js'))) {
    progress('there is no stowage command yet: no CRDs were applied');
    return;
  }
  let manifests: string;
  try {
    manifests = await run(process.execPath, [join(root, 'bin/stowage'), 'crds']);
  } catch (error) {
    progress(`no CRDs were applied: \`stowage crds\` failed: ${messageOf(error)}`);
    return;
  }
  await run(tool(context, 'kubectl'), [...kubectl, '--filename=-'], manifests);
  await waitUntilServed(context);
}

async function waitUntilServed(context: StackContext): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const { body } = await asAdmin(context, 'GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    const { items } = JSON.parse(body) as {
      items: { status?: { conditions?: { type: string; status: string }[] } }[];
    };
    const served = items.filter(({ status }) =>
      status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True'),
    );
    if (served.length === items.length) return;
    if (Date.now() > deadline) throw new Error('The API server does not serve the CRDs after 30s.');
  }
}
