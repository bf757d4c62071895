import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import type { KubernetesObject, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { run } from './run.js';
import { sets } from './world.js';

// The chart as Helm renders it, without a cluster.
type Rendered = KubernetesObject & {
  spec: { template: { spec: PodSpec }; replicas?: number };
  rules?: object[];
  data?: Record<string, string>;
};

interface Selector {
  readonly matchLabels: Record<string, string>;
  readonly matchExpressions: { readonly key: string; readonly operator: 'In'; readonly values: string[] }[];
}
interface Pods {
  readonly metadata: { readonly labels: Record<string, string> };
}

const selects = ({ matchLabels, matchExpressions }: Selector, labels: Record<string, string>): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''));

let helm = '';
beforeAll(async () => {
  helm = (await ensureToolchain(['helm'])).helm ?? '';
});

/** The one role that is asked for apart. */
const restarts = 'stowage-rollout-restarts';
const usual = { clusterName: 'c', 'temporal.address': 'temporal:7233' };
const trial = { 'temporal.address': '', 'temporal.trial.enabled': 'true' };

async function render(values: Record<string, string> = {}): Promise<Rendered[]> {
  const args = ['template', 'stowage', 'deploy/chart', '--namespace', 'own', '--kube-version', '1.36.1'];
  const text = await run(helm, [...args, ...sets({ ...usual, ...values })], { cwd: repositoryRoot() });
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}

const named = (objects: readonly Rendered[], kind: string, name: string): Rendered => {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name} among ${objects.map(({ kind: k }) => k).join(', ')}`);
  return found;
};

const environmentOf = ({ spec }: Rendered): Record<string, string | undefined> => {
  const [container] = spec.template.spec.containers as { env?: { name: string; value?: string }[] }[];
  return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
};

describe('the Helm chart', () => {
  test('enables worker versioning by default', async () => {
    const of = async (values: Record<string, string>): Promise<string | undefined> =>
      environmentOf(named(await render(values), 'Deployment', 'stowage-worker')).WORKER_VERSIONING;

    expect(await of({})).toBe('true');
    expect(await of({ 'worker.versioning': 'false' })).toBeUndefined();
  });

  test('has two operators and two workers, or two processes that are both in mode single', async () => {
    const split = (await render()).filter(({ kind }) => kind === 'Deployment');
    const single = (await render({ mode: 'single' })).filter(({ kind }) => kind === 'Deployment');

    expect(split.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([
      ['stowage-operator', 2],
      ['stowage-worker', 2],
    ]);
    expect(single.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([['stowage-stowage', 2]]);
  });

  test('keeps its pods off nodes that Stowage manages, also where the values add node affinity', async () => {
    const wanted = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]';
    const rendered = await render({
      [`${wanted}.matchExpressions[0].key`]: 'team',
      [`${wanted}.matchExpressions[0].operator`]: 'Exists',
    });
    const pods = rendered.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
    expect(pods.length).toBe(4);
    for (const { spec } of pods) {
      const { nodeAffinity } = spec.template.spec.affinity!;
      expect(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toEqual([
        {
          matchExpressions: [
            { key: 'team', operator: 'Exists' },
            { key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' },
          ],
        },
      ]);
    }
  });

  test('spreads its pods over hosts and zones, with a PodDisruptionBudget, so that it survives the loss of one', async () => {
    const rendered = await render();
    const { spec } = named(rendered, 'Deployment', 'stowage-worker').spec.template;
    const spreads = spec.topologySpreadConstraints as TopologySpreadConstraint[];
    const keys = spreads.map(({ topologyKey }) => topologyKey);

    expect(keys.sort()).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone']);
    expect(spreads.map(({ nodeTaintsPolicy }) => nodeTaintsPolicy)).toEqual(['Honor', 'Honor']);
    expect(spec.priorityClassName).toBe('system-cluster-critical');
    expect(named(rendered, 'PodDisruptionBudget', 'stowage-worker').spec).toMatchObject({ maxUnavailable: 1 });
  });

  test('runs its containers as non-root, without privileges and capabilities', async () => {
    for (const { kind, spec } of await render({ 'temporal.trial.enabled': 'true', 'temporal.address': '' })) {
      if (!['Deployment', 'Job', 'StatefulSet'].includes(kind)) continue;
      const { securityContext, containers } = spec.template.spec as unknown as {
        securityContext: object;
        containers: { securityContext: object }[];
      };
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  test('gives the rights of deploy/rbac.yaml, under its own names', async () => {
    const rendered = await render({ 'page.enabled': 'true' });
    const source = parseAllDocuments(readFileSync('deploy/rbac.yaml', 'utf8')).map((each) => each.toJS() as Rendered);

    const isOfRestarts = ({ metadata }: Rendered): boolean => metadata.name === restarts;
    for (const { kind, metadata, rules } of source.filter((each) => each.rules !== undefined && !isOfRestarts(each))) {
      expect(named(rendered, kind, metadata.name ?? '').rules).toEqual(rules);
    }
    expect(rendered.filter(isOfRestarts)).toEqual([]);
    expect((await render()).filter(({ metadata }) => metadata.name === 'stowage-page')).toEqual([]);
    expect(named(rendered, 'Role', 'stowage').metadata.namespace).toBe('own');
    expect(named(rendered, 'Role', 'stowage-karpenter-lease').metadata.namespace).toBe('kube-system');
  });

  test('grants the patch of workloads only where rolloutRestarts is enabled', async () => {
    const mayPatch = (rendered: readonly Rendered[]): string[] =>
      rendered.flatMap(({ kind, metadata, rules = [] }) =>
        kind === 'ClusterRole' && JSON.stringify(rules).match(/"apps"[^}]*"patch"/) !== null
          ? [metadata.name ?? '']
          : [],
      );
    const rendered = await render({ 'rolloutRestarts.enabled': 'true' });

    expect(mayPatch(await render())).toEqual([]);
    expect(mayPatch(rendered)).toEqual([restarts]);
    expect(named(rendered, 'ClusterRoleBinding', restarts)).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: restarts },
      subjects: [{ kind: 'ServiceAccount', name: 'stowage', namespace: 'own' }],
    });
  });

  test('has the alerts of deploy/alerts.yaml', async () => {
    const rendered = await render({ 'metrics.prometheusRule.enabled': 'true' });

    expect(named(rendered, 'PrometheusRule', 'stowage').spec).toEqual(
      parse(readFileSync('deploy/alerts.yaml', 'utf8')),
    );
  });

  test.each([
    ['', undefined],
    ['karpenter', [{ targetLabel: 'job', replacement: 'karpenter' }]],
  ])('has a ServiceMonitor with the job "%s"', async (job, relabelings) => {
    const rendered = await render({ 'metrics.serviceMonitor.enabled': 'true', 'metrics.serviceMonitor.job': job });
    const { spec } = named(rendered, 'ServiceMonitor', 'stowage') as unknown as { spec: { endpoints: object[] } };

    expect(spec.endpoints).toEqual([{ port: 'metrics', interval: '30s', ...(relabelings && { relabelings }) }]);
  });

  test('has dashboards as ConfigMaps where they are enabled', async () => {
    const dashboardsOf = (rendered: Rendered[]) => rendered.filter(({ kind }) => kind === 'ConfigMap');
    const found = dashboardsOf(await render({ 'dashboards.enabled': 'true' }));

    expect(dashboardsOf(await render())).toEqual([]);
    expect(found.map(({ metadata }) => metadata.name).sort()).toEqual(
      ['capacity', 'disruption', 'launches', 'temporal'].map((name) => `stowage-dashboard-${name}`),
    );
    for (const { metadata, data = {} } of found) {
      expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' });
      for (const [file, text] of Object.entries(data)) {
        expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(`deploy/chart/files/dashboards/${file}`, 'utf8')));
      }
      expect(Object.keys(data)).toHaveLength(1);
    }
  });

  test('has a NetworkPolicy that lets in only metrics and probes', async () => {
    const { spec } = named(await render(), 'NetworkPolicy', 'stowage');

    expect(spec).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port: 'metrics' }] }, { ports: [{ port: 'probes' }] }],
    });
  });

  test('limits access to metrics to the peers of metrics.allowFrom', async () => {
    const peer = 'metrics.allowFrom[0].namespaceSelector.matchLabels.team';
    const { spec } = named(await render({ [peer]: 'monitoring' }), 'NetworkPolicy', 'stowage') as unknown as {
      spec: { ingress: object[] };
    };

    expect(spec.ingress).toEqual([
      {
        ports: [{ protocol: 'TCP', port: 'metrics' }],
        from: [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }],
      },
      { ports: [{ protocol: 'TCP', port: 'probes' }] },
    ]);
  });

  test.each([
    ['http://collector.observability:4318', 4318],
    ['https://collector.example.com', 443],
  ])('sends traces to %s, and its NetworkPolicy allows egress to port %d', async (endpoint, port) => {
    const rendered = await render({ 'tracing.endpoint': endpoint });

    expect(environmentOf(named(rendered, 'Deployment', 'stowage-worker'))).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    });
    const { egress } = named(rendered, 'NetworkPolicy', 'stowage').spec as unknown as { egress: { ports: object[] }[] };
    expect(egress[0]?.ports).toContainEqual({ protocol: 'TCP', port });
    expect(JSON.stringify(await render())).not.toContain('OTEL_');
  });

  test.each([
    ['small', { memory: '384Mi', cpu: '100m' }],
    ['medium', { memory: '1Gi', cpu: '500m' }],
    ['large', { memory: '3Gi', cpu: 2 }],
  ])('of size %s gives a worker the requests %o', async (size, requests) => {
    const [container] = named(await render({ size }), 'Deployment', 'stowage-worker').spec.template.spec
      .containers as unknown as { resources: { requests: object } }[];

    expect(container?.resources.requests).toEqual(requests);
  });

  describe('the trial Temporal of the chart', () => {
    test.each(['default', 'nodes-of-c'])('has the namespace %s that Stowage and its probe use', async (namespace) => {
      const rendered = await render({ ...trial, 'temporal.namespace': namespace });
      const [container] = named(rendered, 'StatefulSet', 'stowage-temporal').spec.template.spec
        .containers as unknown as { command: string[]; readinessProbe: { httpGet: { path: string } } }[];

      expect(container?.command).toContain(`--namespace=${namespace}`);
      expect(container?.readinessProbe.httpGet.path).toBe(`/api/v1/namespaces/${namespace}`);
      expect(environmentOf(named(rendered, 'Deployment', 'stowage-worker'))).toMatchObject({
        TEMPORAL_NAMESPACE: namespace,
      });
    });

    test("accepts connections only from Stowage's pods of its release", async () => {
      const rendered = await render(trial);
      const { spec } = named(rendered, 'NetworkPolicy', 'stowage-temporal') as unknown as {
        spec: {
          podSelector: { matchLabels: object };
          ingress: { from: { podSelector: Selector }[]; ports: object[] }[];
        };
      };
      const temporal = named(rendered, 'StatefulSet', 'stowage-temporal').spec.template as unknown as Pods;
      const [rule] = spec.ingress;
      const [peer] = rule?.from ?? [];
      const callers = rendered.filter(
        ({ kind, metadata }) => kind === 'Deployment' || (kind === 'Job' && metadata.name === 'stowage-uninstall'),
      );

      expect(temporal.metadata.labels).toMatchObject(spec.podSelector.matchLabels);
      expect(spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], egress: [] });
      expect([spec.ingress.length, rule?.from.length, rule?.ports]).toEqual([
        1,
        1,
        [{ protocol: 'TCP', port: 'frontend' }],
      ]);
      for (const { spec: own } of callers) {
        expect(selects(peer!.podSelector, (own.template as unknown as Pods).metadata.labels)).toBe(true);
      }
      const strangers: Record<string, string>[] = [
        {},
        { 'app.kubernetes.io/name': 'stowage' },
        { 'app.kubernetes.io/instance': 'stowage' },
      ];
      expect(strangers.filter((labels) => selects(peer!.podSelector, labels))).toEqual([]);
    });

    test('is left out where temporal.address is given', async () => {
      expect((await render()).filter(({ metadata }) => metadata.name === 'stowage-temporal')).toEqual([]);
    });
  });

  test('reaches Temporal by mutual TLS with files of a Secret', async () => {
    const values = { 'temporal.tls.secretName': 'temporal-client', 'temporal.tls.ca': 'true' };
    const deployment = named(await render(values), 'Deployment', 'stowage-operator');

    expect(environmentOf(deployment)).toMatchObject({
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_CA: '/etc/stowage/temporal-tls/ca.crt',
      TEMPORAL_TLS_CERT: '/etc/stowage/temporal-tls/tls.crt',
      TEMPORAL_TLS_KEY: '/etc/stowage/temporal-tls/tls.key',
    });
    expect(deployment.spec.template.spec).toMatchObject({
      volumes: [{ name: 'temporal-tls', secret: { secretName: 'temporal-client' } }],
    });
  });

  test('reaches Temporal by a profile of a Secret, which has address and namespace', async () => {
    const values = {
      'temporal.address': '',
      'temporal.profile.secretName': 'temporal',
      'temporal.profile.name': 'prod',
    };
    const rendered = await render(values);
    const deployment = named(rendered, 'Deployment', 'stowage-operator');
    const environment = environmentOf(deployment);

    expect(environment).toMatchObject({
      TEMPORAL_CONFIG_FILE: '/etc/stowage/temporal-profile/temporal.toml',
      TEMPORAL_PROFILE: 'prod',
    });
    expect(Object.keys(environment)).not.toEqual(expect.arrayContaining(['TEMPORAL_ADDRESS']));
    expect(Object.keys(environment)).not.toEqual(expect.arrayContaining(['TEMPORAL_NAMESPACE']));
    expect(deployment.spec.template.spec).toMatchObject({
      volumes: [{ name: 'temporal-profile', secret: { secretName: 'temporal' } }],
    });
    expect(JSON.stringify(named(rendered, 'NetworkPolicy', 'stowage').spec)).toContain('"port":7233');
  });

  test('encrypts payloads with keys of a Secret', async () => {
    const deployment = named(
      await render({ 'temporal.payloadKeys.secretName': 'keys' }),
      'Deployment',
      'stowage-worker',
    );

    expect(environmentOf(deployment)).toMatchObject({
      TEMPORAL_PAYLOAD_KEYS_FILE: '/etc/stowage/temporal-payload-keys/keys.yaml',
    });
    expect(deployment.spec.template.spec).toMatchObject({
      volumes: [{ name: 'temporal-payload-keys', secret: { secretName: 'keys' } }],
    });
  });

  test('signs notifications with a key of a Secret, which may have their URL too', async () => {
    const values = { 'notifications.secretName': 'hook', 'notifications.urlKey': 'url' };
    const deployment = named(await render(values), 'Deployment', 'stowage-operator');
    const [container] = deployment.spec.template.spec.containers as unknown as { env: object[] }[];

    expect(container?.env).toEqual(
      expect.arrayContaining([
        { name: 'NOTIFY_SECRET_FILE', value: '/etc/stowage/notifications/signing-key' },
        { name: 'NOTIFY_URL', valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } },
      ]),
    );
    expect(deployment.spec.template.spec).toMatchObject({
      volumes: [{ name: 'notifications', secret: { secretName: 'hook' } }],
    });
  });

  test('grants the status of pods unless nominations are off', async () => {
    const may = async (values: Record<string, string>): Promise<boolean> =>
      JSON.stringify((await render(values)).map(({ rules }) => rules ?? [])).includes('pods/status');

    expect(await may({})).toBe(true);
    expect(await may({ 'settings.NOMINATE_PODS': 'false' })).toBe(false);
  });

  test('grants scaling of the Deployments only to the uninstall job', async () => {
    const rendered = await render();
    const own = rendered.filter(({ metadata }) => metadata.name === 'stowage-uninstall');

    expect(own.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Role', 'RoleBinding', 'Job']));
    for (const { kind, metadata } of own) {
      expect(metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-delete' });
      if (kind !== 'Job')
        expect(metadata.annotations?.['helm.sh/hook-delete-policy']).toMatch(/hook-succeeded,hook-failed$/);
    }
  });

  test.each([
    [{ clusterName: '' }, /clusterName/],
    [{ 'notifications.urlKey': 'url' }, /notifications\.secretName is empty/],
    [{ mode: 'both' }, /mode.*'split', 'single'/s],
    [{ 'temporal.address': '' }, /temporal\.address is missing/],
    [{ 'temporal.trial.enabled': 'true' }, /temporal\.address and temporal\.trial\.enabled are both given/],
    [{ 'temporal.adress': 'temporal:7233' }, /adress/],
    [{ 'worker.replicas': '0' }, /replicas/],
    [{ 'cloud.region': 'us-west-2a' }, /region/],
    [{ clusterName: 'my cluster' }, /clusterName/],
    [{ 'temporal.address': 'https://temporal:7233' }, /address/],
    [{ 'image.digest': 'latest' }, /digest/],
    [{ 'image.repository': 'registry.example/stowage:1.0' }, /image\/repository/],
    [{ 'image.tag': '1.0 beta' }, /image\/tag/],
    [{ 'imagePullSecrets[0].secret': 'pull' }, /imagePullSecrets\/0/],
    [{ 'temporal.address': 'temporal:72330' }, /temporal\/address/],
    [{ 'temporal.namespace': 'my namespace' }, /temporal\/namespace/],
    [{ 'temporal.tls.secretName': 'My Secret' }, /secretName/],
    [{ 'temporal.trial.persistence.size': 'large' }, /persistence\/size/],
    [{ 'operator.resources.requests.cpu': 'much' }, /requests\/cpu/],
    [{ 'worker.resources.request.cpu': '1' }, /worker\/resources.*request/s],
    [{ 'cloud.interruptionQueue': 'https://sqs.example/queue' }, /interruptionQueue/],
    [{ 'cloud.commitmentsConfigMap': 'Commitments' }, /commitmentsConfigMap/],
    [{ 'karpenterLease.namespace': 'Kube System' }, /karpenterLease\/namespace/],
    [{ 'metrics.serviceMonitor.interval': 'often' }, /serviceMonitor\/interval/],
    [{ 'metrics.allowFrom[0].namespace': 'monitoring' }, /allowFrom\/0.*namespace/s],
    [{ 'nodeSelector.stowage': 'true' }, /nodeSelector\/stowage.*want string/s],
    [{ 'tolerations[0].effect': 'Never' }, /tolerations\/0\/effect/],
    [{ 'settings.TEMPORAL_API_KEY': 'secret' }, /TEMPORAL_API_KEY/],
    [{ 'settings.FEATURE_GATE': 'NodeRepair=true' }, /'FEATURE_GATE'.*must be one of .*'FEATURE_GATES'/s],
    [{ ...trial, 'temporal.apiKey.secretName': 'key' }, /temporal\.apiKey\.secretName is key beside temporal\.trial/],
    [{ ...trial, 'temporal.tls.enabled': 'true' }, /temporal\.tls\.enabled is true beside temporal\.trial/],
    [{ ...trial, 'temporal.tls.secretName': 'tls' }, /temporal\.tls\.secretName is tls beside temporal\.trial/],
    [{ ...trial, 'temporal.tls.serverName': 'name' }, /temporal\.tls\.serverName is name beside temporal\.trial/],
    [{ 'serviceAccount.create': 'false' }, /serviceAccount\.name is empty/],
  ])('refuses the values %o', async (values, message) => {
    await expect(render(values as Record<string, string>)).rejects.toThrow(message);
  });

  test.each<Record<string, string>>([
    { 'image.repository': 'localhost:5000/team/stowage', 'image.tag': 'v1.2.3-rc_1' },
    { 'operator.resources.requests.cpu': '1', 'operator.resources.limits.memory': '1.5Gi' },
    { 'worker.resources.requests.cpu': '250m', 'worker.resources.requests.memory': '1e9' },
    { 'cloud.interruptionQueue': 'stowage_c-1.fifo', 'temporal.namespace': 'stowage.acct1' },
    { 'metrics.serviceMonitor.enabled': 'true', 'metrics.serviceMonitor.interval': '1m30s' },
    { 'tolerations[0].operator': 'Exists', 'imagePullSecrets[0].name': 'pull' },
  ])('accepts the values %o', async (values) => {
    await expect(render(values)).resolves.not.toEqual([]);
  });
});
