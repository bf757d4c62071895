import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import { capacityBuffers } from '../../../api/autoscaling/capacity-buffer.js';
import { ec2NodeClasses } from '../../../api/aws/ec2-node-class.js';
import { nodeClaims } from '../../../api/karpenter/node-claim.js';
import { nodeOverlays } from '../../../api/karpenter/node-overlay.js';
import { nodePools } from '../../../api/karpenter/node-pool.js';
import { kwokNodeClasses } from '../../../api/kwok/kwok-node-class.js';
import { disruptionPauses } from '../../../api/stowage/disruption-pause.js';
import { disruptionPolicies } from '../../../api/stowage/disruption-policy.js';
import { exitStatus, UsageError } from '../../../cli/exit.js';
import { failureOf } from '../../../cli/failure.js';
import { convert } from '../../../cli/convert.js';
import { convertObjects } from '../../../cli/convert/convert.js';
import { loadObjects } from '../../../cli/objects/load.js';
import { parseDocument, parseJson } from '../../../cli/objects/read-documents.js';
import { evaluate, ExpressionError } from '../../../cloud/aws/expression.js';
import { parseInterruption } from '../../../cloud/aws/interruption-queue.js';
import { isMime, readMime } from '../../../cloud/aws/user-data/mime.js';
import type { UserDataInput } from '../../../cloud/aws/user-data/input.js';
import { renderUserData } from '../../../cloud/aws/user-data/user-data.js';
import { CatalogueError, parseCatalogue } from '../../../cloud/kwok/catalogue.js';
import { DurationError, parseDuration, parseNillableDuration } from '../../../core/durations.js';
import { DomainError } from '../../../core/failures.js';
import { parseFeatureGates } from '../../../core/feature-gates.js';
import { parseWorkflowId } from '../../../core/ids.js';
import { annotations } from '../../../api/labels.js';
import { refusalsOn, withRefusal } from '../../../core/refusals.js';
import { parseQuantity, QuantityError } from '../../../core/quantities.js';
import { budgetProblems } from '../../../disruption/budgets/budget-problems.js';
import { allowance } from '../../../disruption/budgets/budgets.js';
import { policyProblems } from '../../../disruption/budgets/policy-problems.js';
import { createKubeClient } from '../../../kube/client.js';
import { KeyRing } from '../../../process/encryption/key-ring.js';
import { packingSettings } from '../../../process/packing-settings.js';
import { describeSettings, readSettings, SettingsError } from '../../../process/settings.js';
import { readDocument } from '../../../process/settings-files.js';
import { connectOptions, readSettingsWithProfile } from '../../../process/temporal-options.js';
import { changedValue, editedText } from './mutations.js';

/** A reader of input from outside. */
export interface Target<Input = unknown> {
  readonly name: string;
  readonly input: fc.Arbitrary<Input>;
  readonly read: (input: Input) => unknown;
  /** What it may throw: errors whose message is for the user. */
  readonly refusals: readonly (new (...args: never[]) => Error)[];
  /** How many cases are run where the quickest readers have a thousand. */
  readonly share?: number;
}

/** In the samples of what may hold secrets: no message has it. */
export const secret = 'hunter2-hunter2-hunter2';

const now = Date.parse('2026-11-03T10:30:00Z');

const refusals: readonly unknown[] = [
  [{ by: 'kube-scheduler', shape: 's', pod: 'a/b', nodes: ['n'], message: 'm', times: 1, at: now, until: now + 1000, generation: 1 }], // prettier-ignore
  [{ by: 'api-server', shape: '', pod: '', nodes: [], message: 'm', times: 2, at: now, until: now + 1000, generation: 1 }], // prettier-ignore
];

const examples = ['nodepool.yaml', 'cluster.json'].flatMap((file) => documentsOf(join('examples', file)));
const oldFolder = 'cli/convert/testdata';
const oldSamples = readdirSync(oldFolder).flatMap((name) =>
  name.endsWith('.yaml') ? documentsOf(join(oldFolder, name)) : [],
);

const folder = mkdtempSync(join(tmpdir(), 'stowage-fuzz-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

function written(text: string): string {
  const file = join(folder, 'input');
  writeFileSync(file, text);
  return file;
}

function documentsOf(file: string): unknown[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as unknown);
}

const requirement = { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'], minValues: 1 };
const meta = { name: 'a', labels: { team: 'a' }, annotations: { note: 'b' } };
const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const budgets = [
  { nodes: '10%', schedule: '0 9 * * mon-fri', duration: '8h30m', reasons: ['Drifted'] },
  { nodes: '3', schedule: '@daily', duration: '10m' },
  { nodes: '0', schedule: '*/5 1-3,7 1,15 jan-jun 0', duration: '1m' },
];
const policy = {
  apiVersion: 'stowage.dev/v1alpha1',
  kind: 'DisruptionPolicy',
  metadata: meta,
  spec: {
    nodePoolSelector: { matchLabels: { team: 'a' } },
    approval: { reasons: ['Drifted'], timeout: '24h' },
    maintenanceWindows: [{ schedule: '0 1 * * sat', duration: '4h', timeZone: 'Europe/Berlin' }],
    rates: [{ nodes: 3, per: '1h' }],
    drainEscalation: [{ after: '10m', action: 'Notify' }],
    drift: { waves: [{ nodes: '10%' }], pause: '10m' },
  },
};
const nodePool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: meta,
  spec: {
    weight: 10,
    limits: { cpu: '1000', memory: '1Ti' },
    disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '30s', budgets },
    template: {
      metadata: { labels: { team: 'a' }, annotations: {} },
      spec: {
        nodeClassRef,
        requirements: [requirement],
        taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
        expireAfter: '720h',
        terminationGracePeriod: '1h',
      },
    },
  },
};
const resources = [
  [nodePools, nodePool],
  [nodeClaims, { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: meta, spec: { nodeClassRef, requirements: [requirement], resources: { requests: { cpu: '1' } } } }],
  [nodeOverlays, { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: meta, spec: { weight: 1, priceAdjustment: '+10%', capacity: { 'a.b/c': '3' }, requirements: [requirement] } }],
  [capacityBuffers, { apiVersion: 'autoscaling.x-k8s.io/v1alpha1', kind: 'CapacityBuffer', metadata: { ...meta, namespace: 'b' }, spec: { podTemplateRef: { name: 'a' }, replicas: 3, limits: { cpu: '3' } } }],
  [disruptionPolicies, policy],
  [disruptionPauses, { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPause', metadata: meta, spec: { scope: { kind: 'NodePool', name: 'a' }, message: 'b', until: '2026-11-03T10:30:00Z' } }],
  [kwokNodeClasses, { apiVersion: 'karpenter.kwok.sh/v1alpha1', kind: 'KWOKNodeClass', metadata: meta, spec: { nodeRegistrationDelay: '1s' } }],
  [ec2NodeClasses, { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: meta, spec: { role: 'a', amiFamily: 'AL2023', amiSelectorTerms: [{ alias: 'al2023@latest' }], subnetSelectorTerms: [{ tags: { a: 'b' } }], securityGroupSelectorTerms: [{ id: 'sg-1' }], blockDeviceMappings: [{ deviceName: '/dev/xvda', ebs: { volumeSize: '20Gi', volumeType: 'gp3', iops: 3000 } }], kubelet: { maxPods: 110, kubeReserved: { cpu: '100m' } }, tags: { a: 'b' }, metadataOptions: { httpTokens: 'required' } } }],
] as const; // prettier-ignore

const eventOf = (kind: string, detail: object): object => ({ version: '0', id: '7bf73129', 'detail-type': kind, source: 'aws.ec2', time: '2026-11-03T10:30:00Z', detail }); // prettier-ignore
const messages = [
  eventOf('EC2 Spot Instance Interruption Warning', { 'instance-id': 'i-0123456789abcdef0', 'instance-action': 'terminate' }),
  eventOf('EC2 Instance State-change Notification', { 'instance-id': 'i-0123456789abcdef0', state: 'stopping' }),
  { ...eventOf('AWS Health Event', { service: 'EC2', eventTypeCategory: 'scheduledChange', affectedEntities: [{ entityValue: 'i-0123456789abcdef0' }] }), source: 'aws.health' },
]; // prettier-ignore

const userDataInput: Omit<UserDataInput, 'family' | 'custom'> = {
  ...{ clusterName: 'c', clusterEndpoint: 'https://c', caBundle: 'Y2E=', serviceCidr: '10.100.0.0/16', maxPods: 110, raid0: false, bindsByDefault: false },
  ...{ kubelet: { maxPods: 110, clusterDNS: ['10.100.0.10'] }, labels: { a: 'b' }, taints: [] },
}; // prettier-ignore
const customs = [
  '#!/bin/bash\necho hello\n',
  'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B\nContent-Type: text/x-shellscript; charset="us-ascii"\n\necho\n--B--\n',
  'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 3\n',
  '[settings.kubernetes]\nmax-pods = 3\n"kube-reserved" = { cpu = "100m" }\n[settings.kubernetes.node-labels]\n"a/b" = "c"\n',
];
const families = ['AL2', 'AL2023', 'Bottlerocket', 'Windows2022', 'Custom'] as const;

const kubeconfig = {
  ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
  clusters: [{ name: 'c', cluster: { server: `https://10.0.0.1`, 'insecure-skip-tls-verify': true, 'proxy-url': 'http://10.0.0.2' } }],
  users: [{ name: 'u', user: { token: secret, password: secret, exec: { command: 'a', args: [secret], env: null } } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
}; // prettier-ignore
const profiles = `[profile.default]\naddress = "localhost:7233"\nnamespace = "n"\napi_key = "${secret}"\n[profile.default.tls]\ndisabled = true\n[profile.default.grpc_meta]\na = "${secret}"\n`; // prettier-ignore
const keys = { current: 'a', keys: { a: Buffer.alloc(32, secret).toString('base64'), b: secret } };
const spread = { defaultingType: 'List', defaultConstraints: [{ maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' }] }; // prettier-ignore
const scheduler = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration', profiles: [{ schedulerName: 'default-scheduler', pluginConfig: [{ name: 'PodTopologySpread', args: spread }] }] }; // prettier-ignore
const commitments = { commitments: [{ kind: 'EC2InstanceSavingsPlan', name: 'a', perHour: 3, discount: 0.2, instanceFamily: 'm5' }] }; // prettier-ignore

const target = <Input>(one: Target<Input>): Target => one as unknown as Target;

/** Every reader of what queues, clouds, people and files bring. None may crash or hang on any input. */
export const targets: readonly Target[] = [
  target({
    name: 'messages of the interruption queue',
    input: fc.oneof(
      editedText(...messages.map((message) => JSON.stringify(message))),
      changedValue(...messages).map((value) => JSON.stringify(value)),
    ),
    read: (body) =>
      parseInterruption(body, { sqsMessageId: 'm', now, own: { account: '123456789012', region: 'us-west-2' } }),
    refusals: [],
  }),
  target({
    name: 'refusals in annotations of NodePools',
    input: fc.oneof(editedText(...refusals.map((each) => JSON.stringify(each))), changedValue(...refusals).map((value) => JSON.stringify(value))), // prettier-ignore
    read: (text) => {
      const known = refusalsOn({ metadata: { generation: 1, annotations: { [annotations.refusals]: text } } }, now);
      const refused = { shape: 's', pod: 'a/b', message: 'm', generation: 1 };
      return [
        withRefusal(known, { by: 'kube-scheduler', ...refused, nodes: ['n'] }, now),
        withRefusal(known, { by: 'api-server', ...refused, nodes: [] }, now),
      ];
    },
    refusals: [],
  }),
  target({
    name: 'quantities',
    input: editedText('1', '100m', '1.5Gi', '2e3', '-1Ki', '0.5'),
    read: (text) => {
      const amount = parseQuantity(text);
      if (!Number.isFinite(amount)) throw new Error(`read as ${amount}`);
    },
    refusals: [QuantityError],
  }),
  target({
    name: 'durations',
    input: editedText('1h30m', '720h', '0s', '1.5h', '100ms', 'Never'),
    read: (text) => [parseNillableDuration(text), parseDuration(text)],
    refusals: [DurationError],
  }),
  target({ name: 'feature gates', input: editedText('NodeRepair=true,SpotToSpotConsolidation=false'), read: parseFeatureGates, refusals: [] }), // prettier-ignore
  target({ name: 'ids of workflows', input: editedText('c/launch/1', 'c/terminate/1', 'c/expire/1/2'), read: parseWorkflowId, refusals: [] }), // prettier-ignore
  target({
    name: 'cron schedules of budgets',
    input: fc.tuple(editedText(...budgets.map(({ schedule }) => schedule)), fc.nat(3)),
    read: ([schedule, days]) =>
      allowance(
        [{ nodes: '1', schedule, duration: '1h' }],
        'Drifted',
        { total: 9, disrupting: 1 },
        now + days * 86_400_000,
      ),
    refusals: [],
    share: 20,
  }),
  ...resources.map(([resource, sample]) =>
    target({
      name: `${resource.kind} objects`,
      input: changedValue(sample),
      read: (value) => {
        const parsed = resource.parse(value);
        const silent = parsed.ok ? [] : parsed.error.filter(({ message }) => message === '');
        if (silent.length > 0) throw new Error('a problem without words');
      },
      refusals: [],
      share: 50,
    }),
  ),
  target({
    name: 'budgets and policies that their schemas let pass',
    input: fc.tuple(changedValue(nodePool), changedValue(policy)),
    read: ([pool, rules]) => {
      const parsedPool = nodePools.parse(pool);
      const parsedPolicy = disruptionPolicies.parse(rules);
      if (parsedPool.ok) budgetProblems(parsedPool.value, now);
      if (parsedPolicy.ok) policyProblems(parsedPolicy.value, parsedPool.ok ? [parsedPool.value] : [], now);
    },
    refusals: [],
    share: 200,
  }),
  target({ name: 'files of YAML', input: editedText(readFileSync('examples/nodepool.yaml', 'utf8')), read: (text) => parseDocument(text, 'file'), refusals: [UsageError], share: 100 }), // prettier-ignore
  target({ name: 'files of JSON', input: editedText(JSON.stringify(examples)), read: (text) => parseJson(text, 'file'), refusals: [UsageError] }), // prettier-ignore
  target({
    name: 'catalogues',
    input: fc.oneof(
      editedText(JSON.stringify(catalogue())),
      changedValue(catalogue()).map((value) => JSON.stringify(value)),
    ),
    read: (text) => parseCatalogue(text),
    refusals: [CatalogueError],
    share: 20,
  }),
  target({
    name: 'objects of older Karpenters',
    input: changedValue(...oldSamples),
    // As a file brings them, which bounds how deep they are nested.
    read: (value) =>
      convertObjects([{ value: parseDocument(JSON.stringify(value ?? null), 'file'), where: 'file' } as never], {}),
    refusals: [UsageError],
    share: 20,
  }),
  target({
    name: 'user data',
    input: fc.tuple(fc.constantFrom(...families), editedText(...customs)),
    read: ([family, custom]) => renderUserData({ ...userDataInput, family, custom }),
    refusals: [DomainError],
    share: 20,
  }),
  target({ name: 'MIME', input: editedText(...customs), read: (text) => (isMime(text) ? readMime(text) : undefined), refusals: [DomainError] }), // prettier-ignore
  target({
    name: 'expressions of kubelet settings',
    input: editedText(
      'max(11, vcpus * 10) + memory_mib / 4',
      "instance_type == 'm5.large' ? 1 : (2 + 3)",
      '!(1 < 2) || true',
    ),
    read: (text) => evaluate(text, { vcpus: 4, memory_mib: 8192, instance_type: 'm5.large' }),
    refusals: [ExpressionError],
  }),
  target({
    name: 'settings',
    input: fc.oneof(
      fc.tuple(
        fc.constantFrom('__proto__', ...describeSettings().map(({ name }) => name)),
        editedText('10s', 'localhost:7233', '0.075', 'NodeRepair=true', '200'),
      ),
      fc.tuple(
        fc.constantFrom('TEMPORAL_API_KEY', 'NOTIFY_URL', 'HTTPS_PROXY', 'NO_PROXY'),
        editedText(secret, `https://a:${secret}@b/${secret}`),
      ),
    ),
    read: ([name, value]) => readSettings({ CLUSTER_NAME: 'c', [name]: value }),
    refusals: [SettingsError],
    share: 50,
  }),
  target({
    name: 'profiles of Temporal',
    input: editedText(profiles),
    read: (text) => {
      const environment = { CLUSTER_NAME: 'c', TEMPORAL_CONFIG_FILE: written(text) };
      connectOptions(readSettingsWithProfile(environment), environment);
    },
    refusals: [SettingsError],
    share: 50,
  }),
  target({
    name: 'keys of payloads',
    input: fc.oneof(
      editedText(JSON.stringify(keys)),
      changedValue(keys).map((value) => JSON.stringify(value)),
    ),
    read: (text) => new KeyRing({ file: written(text), now: () => now, onProblem: () => undefined }),
    refusals: [SettingsError],
    share: 50,
  }),
  target({
    name: 'commitments and the configuration of kube-scheduler',
    input: fc.oneof(
      editedText(JSON.stringify(scheduler), JSON.stringify(commitments)),
      changedValue(scheduler, commitments).map((value) => JSON.stringify(value)),
    ),
    read: (text) => {
      const own = { PREFERENCE_POLICY: 'Respect', MIN_VALUES_POLICY: 'Strict', SCHEDULER_CONFIG: '' } as const;
      const read = (each: object): void =>
        void packingSettings({ ...own, COMMITMENTS_FILE: undefined, ...each }, { wellKnownLabels: [] });
      try {
        read({ COMMITMENTS_FILE: written(text) });
      } finally {
        read({ SCHEDULER_CONFIG: `${text}\n` });
      }
    },
    refusals: [SettingsError],
    share: 50,
  }),
  target({
    name: 'kubeconfigs',
    input: fc.oneof(
      editedText(JSON.stringify(kubeconfig)),
      changedValue(kubeconfig).map((value) => JSON.stringify(value)),
    ),
    read: (text) => {
      try {
        createKubeClient({ kubeconfig: written(text) }).close();
      } catch (error) {
        const { status, said } = failureOf(error);
        throw status === exitStatus.badInput ? new UsageError(said) : error;
      }
    },
    refusals: [UsageError],
    share: 50,
  }),
  target({
    name: 'files of settings',
    input: editedText('a: 1\nb: [c, d]\n', '{"a": 1}'),
    read: (text) => readDocument('A_SETTING', written(text)),
    refusals: [SettingsError],
    share: 50,
  }),
  target({
    name: 'files of objects',
    input: changedValue({ kind: 'List', apiVersion: 'v1', items: examples }).map((value) => JSON.stringify(value)),
    read: (text) => loadObjects([written(text)], () => undefined),
    refusals: [UsageError],
    share: 50,
  }),
];

/** Readers of objects in files, and the objects whose fields are replaced one by one. */
export const readersOfObjects: readonly (Pick<Target, 'name' | 'refusals'> & {
  readonly objects: readonly unknown[];
  readonly read: (object: unknown) => unknown;
})[] = [
  {
    name: 'plan and consolidate',
    objects: examples,
    read: (object) => loadObjects([written(JSON.stringify(object))], () => undefined),
    refusals: [UsageError],
  },
  {
    name: 'convert',
    objects: oldSamples,
    read: (object) => convert([written(JSON.stringify(object))], { report: 'text' }),
    refusals: [UsageError],
  },
];

function catalogue(): unknown[] {
  return (JSON.parse(readFileSync('examples/instance-types.json', 'utf8')) as unknown[]).slice(0, 2);
}
