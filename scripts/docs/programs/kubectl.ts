import { readFileSync, readdirSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Invocation } from './described.js';
import { valuesOf } from './described.js';
import { isPlaceholder, problemOfFile } from './page.js';
import type { Check, PageSoFar } from './page.js';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: Names;
    readonly versions: readonly { readonly name: string }[];
  };
}
interface Names {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
}

const definitions = readdirSync('deploy/crds').map(
  (name) => parseAllDocuments(readFileSync(`deploy/crds/${name}`, 'utf8'))[0]!.toJS() as Definition,
);

/** Kinds of Kubernetes by the names that pages give them; test/live/stack-parts.test.ts asks an API server for them. */
export const coreNames: readonly string[] = [
  ...['csinodes', 'daemonsets', 'events', 'namespaces', 'nodes', 'pods', 'replicasets', 'storageclasses'],
  ...['deploy', 'deployment', 'node', 'pod', 'pv', 'pvc', 'volumeattachments'],
];

const ourNames = definitions.flatMap(({ spec: { names } }) => [
  names.plural,
  names.singular,
  ...(names.shortNames ?? []),
]);
const known: ReadonlySet<string> = new Set([...coreNames, ...ourNames]);

/** Named by the chart's templates after a release `stowage`, and Karpenter's own. */
const deployments: ReadonlySet<string> = new Set([
  'stowage-operator',
  'stowage-worker',
  'stowage-stowage',
  'karpenter',
]);
const rolesOf = /kind: ClusterRole\nmetadata:\n\s+name: (\S+)/g;
const clusterRoles = new Set([...readFileSync('deploy/rbac.yaml', 'utf8').matchAll(rolesOf)].map(([, name]) => name));

const problemOfKind = (name: string): string | undefined => (known.has(name) ? undefined : `there is no kind ${name}`);

/** `KIND NAME`, `KIND/NAME` or `KIND,KIND`; kubectl's other words are names. */
function problemsOfResources(
  [first = '', ...names]: readonly string[],
  page: PageSoFar,
): readonly (string | undefined)[] {
  const [kinds = '', name] = first.split('/');
  const isDeployment = kinds === 'deployment' || kinds === 'deploy';
  const named = isDeployment ? [...(name === undefined ? [] : [name]), ...names] : [];
  return [...kinds.split(',').map(problemOfKind), ...named.map((each) => problemOfDeployment(each, page))];
}

const problemOfDeployment = (name: string, page: PageSoFar): string | undefined =>
  isPlaceholder(name) || deployments.has(name) || page.deployments.has(name)
    ? undefined
    : `there is no Deployment ${name}`;

/** Of an object on the page itself. */
function problemsOfObjects(text: string): readonly (string | undefined)[] {
  return parseAllDocuments(text).map((document) => {
    const { apiVersion = '', kind = '' } = document.toJS() as { apiVersion?: string; kind?: string };
    const of = definitions.find(({ spec }) => spec.names.kind === kind && apiVersion.startsWith(`${spec.group}/`));
    const versions = of?.spec.versions.map(({ name }) => `${of.spec.group}/${name}`) ?? [];
    return versions.includes(apiVersion) ? undefined : `there is no kind ${kind} of ${apiVersion}`;
  });
}

/** Words that name objects, by the command. */
function resourcesIn({ command, arguments: words }: Invocation): readonly string[] {
  if (['delete', 'describe', 'get', 'scale', 'set resources'].includes(command)) return words;
  // A pod by its name alone, or `deploy/NAME`.
  return ['exec', 'logs', 'port-forward'].includes(command) && words[0]?.includes('/') === true
    ? words.slice(0, 1)
    : [];
}

export const checkKubectl: Check = (call, page, hereDocument) => {
  const resources = resourcesIn(call);
  if (call.command === 'create deployment') page.deployments.add(call.arguments[0] ?? '');
  const roles = valuesOf(call, '--clusterrole').filter((name) => !clusterRoles.has(name));
  const kubeconfigs = valuesOf(call, '--kubeconfig');
  return [
    ...(resources.length === 0 ? [] : problemsOfResources(resources, page)),
    ...[
      ...valuesOf(call, '-f'),
      ...kubeconfigs,
      ...valuesOf(call, '--from-file').map((value) => value.replace(/^[\w-]+=/, '')),
    ].map((path) => problemOfFile(path, page)),
    ...roles.map((name) => `deploy/rbac.yaml has no ClusterRole ${name}`),
    ...(hereDocument === undefined ? [] : problemsOfObjects(hereDocument)),
  ];
};
