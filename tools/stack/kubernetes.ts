import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { type Component, type StackContext, tool } from './components.js';
import { kubeconfig, prepareCredentials, readTokens } from './credentials.js';
import { answers, http } from './http.js';

/** How long a kubelet takes to overwrite a status that another client wrote (nodeStatusUpdateFrequency). */
const kubeletMs = 10_000;

interface KwokStage {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly selector: { readonly matchExpressions: readonly object[] } };
}

/**
 * Writes KWOK's own stages into `folder`, and returns the files. Two of them act at once where a kubelet does not, and become two each:
 *
 * - a new node is made ready at once, but one that another client marked not ready only after as long as a kubelet takes;
 * - a pod that is being deleted goes at once, but one with a hook that runs before it stops only when its grace is over.
 */
function writeStages(stages: string, folder: string): readonly string[] {
  const own = (name: string): KwokStage => parse(readFileSync(join(stages, `${name}.yaml`), 'utf8')) as KwokStage;
  const phase = (operator: string): object => ({ key: '.status.phase', operator, values: ['Running'] });
  const hook = (operator: string): object => ({ key: '.spec.containers.[].lifecycle.preStop', operator });
  const node = own('node-initialize');
  const pod = own('pod-delete');
  const graceOver = { durationFrom: { expressionFrom: '.metadata.deletionTimestamp' } };
  return [
    variantOf(node, 'node-initialize', phase('NotIn')),
    variantOf(node, 'node-recover', phase('In'), { durationMilliseconds: kubeletMs }),
    own('node-heartbeat-with-lease'),
    own('pod-ready'),
    own('pod-complete'),
    variantOf(pod, 'pod-delete', hook('DoesNotExist')),
    variantOf(pod, 'pod-stop', hook('Exists'), graceOver),
  ].map((stage) => {
    const file = join(folder, `${stage.metadata.name}.yaml`);
    writeFileSync(file, stringify(stage));
    return file;
  });
}

/** The stage for the objects that the expression, too, matches. */
function variantOf(stage: KwokStage, name: string, expression: object, delay?: object): KwokStage {
  const { spec } = stage;
  const selector = { ...spec.selector, matchExpressions: [...spec.selector.matchExpressions, expression] };
  const own = delay === undefined ? {} : { delay };
  return { ...stage, metadata: { ...stage.metadata, name }, spec: { ...spec, ...own, selector } };
}

/** The folders and addresses of one control plane. */
export function kubernetesPaths(context: StackContext): {
  data: string;
  certificates: string;
  certificate: string;
  tokens: string;
  server: string;
  adminKubeconfig: string;
  stowageKubeconfig: string;
  auditPolicy: string;
  auditLog: string;
} {
  const data = join(context.folder, 'data');
  const certificates = join(data, 'certificates');
  return {
    data,
    certificates,
    certificate: join(certificates, 'apiserver.crt'),
    tokens: join(data, 'tokens.csv'),
    server: `https://127.0.0.1:${context.ports.apiserver}`,
    adminKubeconfig: join(context.folder, 'admin.kubeconfig'),
    stowageKubeconfig: join(context.folder, 'stowage.kubeconfig'),
    auditPolicy: join(data, 'audit-policy.json'),
    auditLog: auditLogOf(context.folder),
  };
}

/** Where the API server of a stack writes down who ended what: `tools/stack/auditor` reads it. */
export const auditLogOf = (folder: string): string => join(folder, 'logs', 'audit.log');

/** Evictions, and deletions of pods, nodes and claims; nothing else is worth its line. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', verbs: ['create'], resources: [{ group: '', resources: ['pods/eviction'] }] },
    {
      level: 'Metadata',
      verbs: ['delete'],
      resources: [
        { group: '', resources: ['pods', 'nodes'] },
        { group: 'karpenter.sh', resources: ['nodeclaims'] },
      ],
    },
    { level: 'None' },
  ],
};

/** Makes keys and tokens where there are none yet. */
export function prepareKubernetes(context: StackContext): void {
  const { data, certificates, auditPolicy: policy } = kubernetesPaths(context);
  mkdirSync(certificates, { recursive: true });
  prepareCredentials(data);
  writeFileSync(policy, JSON.stringify(auditPolicy));
}

/** Writes the two kubeconfigs; the API server has written its certificate by the time it serves. */
export function writeKubeconfigs(context: StackContext): void {
  const { data, server, certificate, adminKubeconfig, stowageKubeconfig } = kubernetesPaths(context);
  const tokens = readTokens(data);
  const write = (file: string, user: keyof typeof tokens): void =>
    writeFileSync(file, kubeconfig({ cluster: context.cluster, server, certificate, user, token: tokens[user] }), {
      mode: 0o600,
    });
  write(adminKubeconfig, 'admin');
  write(stowageKubeconfig, 'stowage');
}

/** Calls the API server as its administrator. */
export async function asAdmin(
  context: StackContext,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: string }> {
  const paths = kubernetesPaths(context);
  const answer = await http(`${paths.server}${path}`, {
    method,
    ca: readFileSync(paths.certificate, 'utf8'),
    headers: { authorization: `Bearer ${readTokens(paths.data).admin}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: answer.body.toString('utf8') };
}

function etcd(context: StackContext): Component {
  const { etcd: port, etcdPeer } = context.ports;
  const url = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${etcdPeer}`;
  return {
    name: 'etcd',
    part: 'apiserver',
    address: url,
    command: tool(context, 'etcd'),
    args: [
      '--name=default',
      `--data-dir=${join(context.folder, 'data/etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // The data is thrown away with the stack: a power cut may take it.
      '--unsafe-no-fsync',
      '--auto-compaction-retention=10m',
      '--quota-backend-bytes=4294967296',
      '--log-level=warn',
    ],
    ready: () => answers(`${url}/health`),
    graceMs: 5000,
  };
}

function apiserver(context: StackContext): Component {
  const paths = kubernetesPaths(context);
  return {
    name: 'kube-apiserver',
    part: 'apiserver',
    address: paths.server,
    command: tool(context, 'apiserver'),
    args: [
      `--etcd-servers=http://127.0.0.1:${context.ports.etcd}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${context.ports.apiserver}`,
      `--cert-dir=${paths.certificates}`,
      // The `kubernetes` service would have a loopback endpoint, which validation refuses; nothing uses it.
      '--endpoint-reconciler-type=none',
      '--authorization-mode=RBAC',
      `--token-auth-file=${paths.tokens}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-signing-key-file=${join(paths.data, 'service-account.key')}`,
      `--service-account-key-file=${join(paths.data, 'service-account.pub')}`,
      // Pods would need a token volume that no kubelet mounts.
      ...(context.containers === true
        ? ['--kubelet-preferred-address-types=InternalIP']
        : ['--disable-admission-plugins=ServiceAccount']),
      `--audit-policy-file=${paths.auditPolicy}`,
      `--audit-log-path=${paths.auditLog}`,
      '--service-cluster-ip-range=10.100.0.0/16',
      '--allow-privileged=true',
      '--profiling=false',
      '--max-requests-inflight=1200',
      '--max-mutating-requests-inflight=600',
    ],
    // At start it makes much garbage of the schemas of all APIs: an eighth of its processor time, for 100 MB.
    env: { GOGC: '400' },
    ready: async () => (await asAdmin(context, 'GET', '/readyz')).status === 200,
    // It waits for its watches to end, up to a minute; etcd holds all that matters.
    graceMs: 2000,
  };
}

function scheduler(context: StackContext): Component {
  const port = context.ports.scheduler;
  const { adminKubeconfig, certificates } = kubernetesPaths(context);
  return {
    name: 'kube-scheduler',
    part: 'controllers',
    address: `https://127.0.0.1:${port}`,
    command: tool(context, 'scheduler'),
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(certificates, 'scheduler')}`,
      '--kube-api-qps=500',
      '--kube-api-burst=1000',
    ],
    ready: () => answers(`https://127.0.0.1:${port}/healthz`, { ca: false }),
    graceMs: 3000,
  };
}

function controllerManager(context: StackContext): Component {
  const port = context.ports.controllerManager;
  const { adminKubeconfig, certificate, certificates, data } = kubernetesPaths(context);
  const cloud = [
    'cloud-node-lifecycle-controller',
    'node-route-controller',
    'service-lb-controller',
    'node-ipam-controller',
  ];
  return {
    name: 'kube-controller-manager',
    part: 'controllers',
    address: `https://127.0.0.1:${port}`,
    command: tool(context, 'controllerManager'),
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(certificates, 'controller-manager')}`,
      `--service-account-private-key-file=${join(data, 'service-account.key')}`,
      `--controllers=*,${cloud.map((name) => `-${name}`).join(',')}`,
      '--kube-api-qps=500',
      '--kube-api-burst=1000',
      '--concurrent-replicaset-syncs=20',
      // What pods trust the API server by.
      ...(context.containers === true ? [`--root-ca-file=${certificate}`] : []),
    ],
    ready: () => answers(`https://127.0.0.1:${port}/healthz`, { ca: false }),
    graceMs: 3000,
  };
}

function kwok(context: StackContext): Component {
  const address = `127.0.0.1:${context.ports.kwok}`;
  const stages = tool(context, 'kwokStages');
  const { data, adminKubeconfig } = kubernetesPaths(context);
  return {
    name: 'kwok',
    part: 'controllers',
    address: `http://${address}`,
    command: tool(context, 'kwok'),
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      ...writeStages(stages, data).map((file) => `--config=${file}`),
      '--manage-all-nodes=false',
      '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
      `--server-address=${address}`,
      '--cidr=100.64.0.0/10',
      '--node-lease-duration-seconds=40',
    ],
    ready: () => answers(`http://${address}/healthz`),
    graceMs: 3000,
  };
}

/** etcd and kube-apiserver, in starting order. */
export const apiserverComponents = (context: StackContext): Component[] => [etcd(context), apiserver(context)];

/** What needs the API server: scheduler, controller-manager and KWOK. */
export const controllerComponents = (context: StackContext): Component[] => [
  scheduler(context),
  controllerManager(context),
  kwok(context),
];
