import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { tool, type StackContext } from './components.js';
import { asAdmin, kubernetesPaths } from './kubernetes.js';
import { repositoryRoot } from './paths.js';

/** Runs a program; rejects with what it wrote on stderr. */
function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { encoding: 'utf8', maxBuffer: 64 << 20 }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.trim() === '' ? error.message : stderr.trim()));
    });
  });
}

/** What a cluster is given: the shipped RBAC and CRDs, the latter as `npm run generate` has written them, and KWOK's rights. */
const manifests = ['deploy/rbac.yaml', 'deploy/crds', 'tools/stack/kubernetes/rbac-kwok.yaml'];

/** Applies the manifests, and waits until the CRDs are served. */
export async function applyManifests(context: StackContext): Promise<void> {
  const files = manifests.map((file) => `--filename=${join(repositoryRoot(), file)}`);
  const { adminKubeconfig } = kubernetesPaths(context);
  const apply = [`--kubeconfig=${adminKubeconfig}`, 'apply', '--server-side', '--force-conflicts', ...files];
  await run(tool(context, 'kubectl'), apply);
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
