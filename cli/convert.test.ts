import { readdirSync, readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseAllDocuments, stringify as stringifyAny } from 'yaml';
import { customResourceOf } from '../api/crds.js';
import { convert } from './convert.js';
import type { ConvertOptions } from './convert.js';
import { UsageError } from './exit.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-convert-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let serial = 0;
const stringify = (value: unknown): string => stringifyAny(value, { compat: 'yaml-1.1' });

function run(text: string, options: Partial<ConvertOptions> = {}) {
  const file = join(folder, `${(serial += 1)}.yaml`);
  writeFileSync(file, text);
  const { yaml, report, status } = convert([file], { report: 'json', ...options });
  // As Kubernetes reads it.
  const objects = parseAllDocuments(yaml, { version: '1.1' }).map((document) => document.toJS());
  const { notes } = JSON.parse(report) as { notes: { effect: string; field: string; message: string }[] };
  return { yaml, objects, notes, status };
}

const sample = (name: string): string => readFileSync(join('cli/convert/testdata', `${name}.yaml`), 'utf8');
const samples = readdirSync('cli/convert/testdata').map((file) => file.replace('.yaml', ''));
const effects = (notes: readonly { effect: string; field: string }[], effect: string): string[] =>
  notes.filter((note) => note.effect === effect).map(({ field }) => field);

describe('stowage convert: old YAML becomes v1', () => {
  test('a Provisioner with its AWSNodeTemplate is converted with the old defaults written out', () => {
    const { objects } = run(sample('01-getting-started-v1alpha5'));
    expect(objects).toEqual([
      {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'default' },
        spec: {
          template: {
            spec: {
              requirements: [
                { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
                { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
                { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
                { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
                { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['2'] },
              ],
              nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
              expireAfter: 'Never',
            },
          },
          disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
          limits: { cpu: 1000 },
        },
      },
      {
        apiVersion: 'karpenter.k8s.aws/v1',
        kind: 'EC2NodeClass',
        metadata: { name: 'default' },
        spec: {
          role: 'KarpenterNodeRole-my-cluster',
          amiSelectorTerms: [{ alias: 'al2@latest' }],
          subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'my-cluster' } }],
          securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'my-cluster' } }],
          metadataOptions: { httpPutResponseHopLimit: 2 },
        },
      },
    ]);
  });

  test('comma-separated tags become alternatives, aws::ids a list of ids, an empty value a match by key', () => {
    const { objects } = run(sample('03-consolidation-enabled'));
    expect(objects[1].spec).toMatchObject({
      subnetSelectorTerms: [{ tags: { Name: 'private-a' } }, { tags: { Name: 'private-b' } }],
      securityGroupSelectorTerms: [{ id: 'sg-063d7acfb4b06c82c' }, { id: 'sg-06e0cf9c198874591' }],
      blockDeviceMappings: [{ deviceName: '/dev/xvda', ebs: { volumeSize: '100Gi' } }],
      kubelet: { maxPods: 20, evictionSoftGracePeriod: { 'memory.available': '1m' } },
      userData: '#!/bin/bash\necho "---"\nsysctl -w vm.max_map_count=262144\n',
    });
    const { objects: gpu } = run(sample('05-gpu-provisioner'));
    expect(gpu[1].spec).toMatchObject({
      amiFamily: 'AL2',
      amiSelectorTerms: [
        { name: 'amazon-eks-gpu-node-1.27-*', owner: 'self' },
        { name: 'amazon-eks-gpu-node-1.27-*', owner: 'amazon' },
      ],
      securityGroupSelectorTerms: [{ tags: { Name: '*eks-cluster*', purpose: '*' } }],
    });
  });

  test('an inline provider becomes a node class; what that cannot have is reported', () => {
    const { objects, notes } = run(sample('04-launch-template'), { role: 'nodes' });
    expect(objects.map(({ kind }) => kind)).toEqual(['NodePool', 'EC2NodeClass']);
    expect(objects[0].spec.disruption).toEqual({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    expect(objects[1].spec).toMatchObject({ role: 'nodes' });
    expect(effects(notes, 'lost')).toEqual(['spec.provider.launchTemplate']);
  });

  test('a budget with a duration and no schedule becomes a rate of a DisruptionPolicy', () => {
    const { objects } = run(sample('10-rate-budget'));
    expect(objects).toMatchObject([
      {
        kind: 'NodePool',
        metadata: { name: 'rated', labels: { 'stowage.dev/disruption-policy': 'rated' } },
        spec: { disruption: { budgets: [{ nodes: '100%' }] } },
      },
      {
        apiVersion: 'stowage.dev/v1alpha1',
        kind: 'DisruptionPolicy',
        metadata: { name: 'rated' },
        spec: {
          nodePoolSelector: { matchLabels: { 'stowage.dev/disruption-policy': 'rated' } },
          rates: [{ nodes: '10%', per: '5m' }],
        },
      },
    ]);
    const { objects: mixed } = run(sample('19-old-names-in-v1'));
    expect(mixed[0].spec.disruption.budgets).toEqual([{ nodes: '3', reasons: ['Empty'] }]);
    expect(mixed[1].spec.rates).toEqual([{ nodes: '5%', per: '10m', reasons: ['Drifted'] }]);
  });

  test('expireAfter moves into the template, policies get their new names, disabled consolidation stays disabled', () => {
    const { objects } = run(sample('08-getting-started-v1beta1'));
    expect(objects[0].spec.template.spec).toMatchObject({ expireAfter: '720h' });
    expect(objects[0].spec.disruption).toEqual({
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '0s',
    });
    const { objects: steady } = run(sample('11-consolidation-off-on-a-pool'));
    expect(steady[0].spec).toMatchObject({ weight: 50, disruption: { consolidateAfter: 'Never' } });
  });

  test('NodePools that share a node class but not their kubelet settings get a copy of it each', () => {
    const { objects } = run(sample('12-kubelet-in-pools'));
    const refs = objects
      .filter(({ kind }) => kind === 'NodePool')
      .map(({ spec }) => spec.template.spec.nodeClassRef.name);
    expect(refs).toEqual(['shared-dense', 'shared-sparse', 'shared']);
    const classes = objects.filter(({ kind }) => kind === 'EC2NodeClass');
    expect(classes.map(({ metadata, spec }) => [metadata.name, spec.kubelet?.maxPods])).toEqual([
      ['shared', undefined],
      ['shared-dense', 110],
      ['shared-sparse', 20],
    ]);
  });

  test('every dropped field of a full Provisioner and AWSNodeTemplate is reported', () => {
    const { objects, notes } = run(sample('24-every-provisioner-field'));
    const [pool, nodeClass] = objects;
    expect(effects(notes, 'lost')).toEqual([
      'spec.kubeletConfiguration.containerRuntime',
      'spec.kubeletConfiguration.eventRecordQPS',
    ]);
    expect(pool.spec).toMatchObject({
      weight: 10,
      limits: { cpu: '1000', memory: '1000Gi' },
      template: {
        metadata: { labels: { 'billing-team': 'my-team' }, annotations: { 'example.com/owner': 'my-team' } },
        spec: {
          expireAfter: '720h',
          taints: [{ key: 'example.com/special-taint', effect: 'NoSchedule' }],
          startupTaints: [{ key: 'node.cilium.io/agent-not-ready', value: 'true', effect: 'NoExecute' }],
        },
      },
    });
    expect(nodeClass.spec).toMatchObject({
      detailedMonitoring: true,
      metadataOptions: { httpEndpoint: 'enabled', httpPutResponseHopLimit: 2, httpTokens: 'required' },
      amiSelectorTerms: [{ name: 'my-ami-*', owner: 'self' }, { owner: '1234567890' }],
      securityGroupSelectorTerms: [{ id: 'sg-063d7acfb4b06c82c' }, { id: 'sg-06e0cf9c198874591' }],
      kubelet: { maxPods: 20, podsPerCore: 2, clusterDNS: ['10.0.1.100'], evictionMaxPodGracePeriod: 60 },
      tags: { 'dev.corp.net/app': 'Calculator' },
    });
    expect(Object.keys(nodeClass.spec.kubelet)).toHaveLength(12);
  });

  test('comments above an object are kept, those inside are reported as lost', () => {
    const { yaml, notes } = run(sample('25-gpu-pool-with-comments'));
    expect(yaml).toContain('# GPU nodes, from our wiki\napiVersion');
    const lost = notes.filter(({ effect }) => effect === 'lost').map(({ field, message }) => [field, message]);
    expect(lost).toEqual([
      ['', '2 lines of comments inside it'],
      ['spec.spotOptions', 'v1 has no such field'],
      ['', '1 line of comments inside it'],
    ]);
  });

  test('strings that YAML 1.1 reads as other types stay strings', () => {
    const labels = { a: 'on', b: 'yes', c: '1_0', d: '012', e: 'off', f: '2020-01-01', n: '1e3' };
    const { objects } = run(
      stringify({
        apiVersion: 'karpenter.sh/v1beta1',
        kind: 'NodePool',
        metadata: { name: 'off' },
        spec: { template: { metadata: { labels }, spec: { nodeClassRef: { name: 'x' }, requirements: [] } } },
      }),
    );
    expect(objects[0]).toMatchObject({ metadata: { name: 'off' }, spec: { template: { metadata: { labels } } } });
  });

  test('a new field that an old one overrides is reported as lost', () => {
    const { objects, notes } = run(sample('26-old-beside-new'));
    expect(objects[0].spec.disruption).toEqual({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    expect(effects(notes, 'lost')).toEqual([
      'spec.disruption.consolidationPolicy',
      'spec.disruption.consolidateAfter',
      'spec.template.spec.resources',
      'spec.provider.launchTemplate',
      'spec.provider.tags.kubernetes.io/cluster/eks',
      'spec.unknownField',
    ]);
    expect(effects(notes, 'check')).toEqual(['spec.provider.amiFamily', 'spec.provider.amiSelectorTerms']);
  });

  test('workloads are kept as they are, except for renamed labels and annotations', () => {
    const { yaml, objects } = run(sample('17-whole-cluster-file'));
    expect(yaml).toContain('name: shop   # kept as it is');
    expect(yaml).toContain('karpenter.sh/do-not-disrupt: "true" # long running');
    expect(objects[1].spec.template.spec).toMatchObject({
      nodeSelector: { 'karpenter.sh/nodepool': 'shop' },
      topologySpreadConstraints: [{ topologyKey: 'karpenter.sh/nodepool' }],
    });
    expect(objects[3].spec).toMatchObject({
      instanceProfile: 'KarpenterNodeInstanceProfile-shop',
      tags: { owner: 'shop-team' },
    });
  });

  test('v1 objects are unchanged, and converting twice changes nothing more', () => {
    const text = sample('20-v1-unchanged');
    expect(run(text)).toMatchObject({ yaml: text, notes: [] });
    for (const name of samples) {
      const { yaml } = run(sample(name));
      if (yaml === '') continue;
      const again = run(yaml);
      expect({ name, yaml: again.yaml }).toEqual({ name, yaml });
    }
  });
});

describe('stowage convert: invalid input', () => {
  const provisioner = (spec: object): string =>
    stringify({ apiVersion: 'karpenter.sh/v1alpha5', kind: 'Provisioner', metadata: { name: 'p' }, spec });
  const refused = (text: string): string => {
    try {
      run(text);
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
    throw new Error('was not refused');
  };

  test.each([
    [
      provisioner({ ttlSecondsAfterEmpty: '30s', providerRef: { name: 'a' } }),
      /Provisioner p: spec\.ttlSecondsAfterEmpty: expected a whole number of at least 0, found "30s"/,
    ],
    [provisioner({ providerRef: {} }), /spec\.providerRef\.name: expected a name/],
    [provisioner({ providerRef: { name: 'a' }, requirements: { key: 'a' } }), /spec\.requirements: expected a list/],
    [
      provisioner({ providerRef: { name: 'a' }, requirements: [{ key: 'a', operator: 'Near', values: ['b'] }] }),
      /NodePool p of karpenter.sh\/v1: spec\.template\.spec\.requirements\[0\]\.operator: found "Near"/,
    ],
    ['apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {}\nspec: {}', /metadata\.name: expected a name/],
    ['a: 1\n---\nb: [1,\n', /document 2: line 4, column 1: not valid YAML/],
    ['just words', /expected a Kubernetes object/],
    [sample('06-ubuntu').replace('Ubuntu', 'Debian'), /spec\.amiFamily: expected one of AL2, .*found "Debian"/],
    [
      sample('13-selector-maps-in-v1beta1')
        .replace('AL2', 'Custom')
        .replace(/ {2}amiSelector:\n.*\n/, ''),
      /amiSelectorTerms/,
    ],
  ])('%#: is reported with file, object and field', (text, message) => {
    const said = refused(text);
    expect(said).toMatch(message);
    expect(said).toMatch(/\.yaml/);
  });
});

describe('stowage convert: what v1 requires', () => {
  const poolOf = (spec: object, apiVersion = 'karpenter.sh/v1beta1') =>
    stringify({ apiVersion, kind: 'NodePool', metadata: { name: 'a' }, spec });
  const template = { spec: { nodeClassRef: { name: 'a' }, requirements: [] } };
  const classOf = (spec: object, apiVersion = 'karpenter.k8s.aws/v1beta1', metadata = {}) =>
    stringify({ apiVersion, kind: 'EC2NodeClass', metadata: { name: 'a', ...metadata }, spec });
  const whole = {
    amiFamily: 'AL2023',
    role: 'r',
    subnetSelectorTerms: [{ id: 'subnet-1' }],
    securityGroupSelectorTerms: [{ id: 'sg-1' }],
  };
  const refusal = (text: string, options: Partial<ConvertOptions> = {}): string => {
    try {
      run(text, options);
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
    return '';
  };

  test('consolidateAfter is written wherever disruption is', () => {
    for (const disruption of [
      { consolidationPolicy: 'WhenUnderutilized' },
      { expireAfter: '720h' },
      { budgets: [{ nodes: '1' }] },
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
    ]) {
      for (const version of ['karpenter.sh/v1beta1', 'karpenter.sh/v1']) {
        const [object] = run(poolOf({ template, disruption }, version)).objects;
        expect(object.spec.disruption.consolidateAfter).toMatch(/^(0|30)s$/);
      }
    }
  });

  test('a patch is refused, since it would overwrite the fields that it leaves out', () => {
    expect(refusal(classOf({ role: 'r' }))).toMatch(
      /amiFamily: .*\n.*subnetSelectorTerms: .*\n.*securityGroupSelectorTerms/,
    );
    expect(refusal(classOf({ amiSelectorTerms: [{ alias: 'al2023@latest' }] }, 'karpenter.k8s.aws/v1'))).toMatch(
      /subnetSelectorTerms: expected .*\n.*securityGroupSelectorTerms: .*\n.*role: /,
    );
    expect(refusal(poolOf({ template: { spec: { nodeClassRef: { name: 'a' } } } }, 'karpenter.sh/v1'))).toMatch(
      /requirements: expected a list/,
    );
  });

  test('an API version in nodeClassRef.group, and a missing kind, are corrected and reported', () => {
    const spec = { ...template.spec, nodeClassRef: { group: 'karpenter.k8s.aws/v1', name: 'a' } };
    const { objects, notes } = run(poolOf({ template: { spec } }, 'karpenter.sh/v1'));
    expect(objects[0].spec.template.spec.nodeClassRef).toEqual({ group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'a' }); // prettier-ignore
    expect(effects(notes, 'changed')).toEqual(
      ['group', 'kind'].map((name) => `spec.template.spec.nodeClassRef.${name}`),
    );
  });

  test('strings that YAML 1.1 reads as other types are quoted in all string fields; unknown fields are reported', () => {
    const taints = [{ key: 'a', value: true, effect: 'NoSchedule', extra: 1 }];
    const pool = run(poolOf({ template: { spec: { ...template.spec, taints } } }));
    expect(pool.objects[0].spec.template.spec.taints).toEqual([{ key: 'a', value: 'true', effect: 'NoSchedule' }]);
    expect(effects(pool.notes, 'lost')).toEqual(['spec.template.spec.taints[0].extra']);
    const { objects } = run(
      classOf({
        ...whole,
        subnetSelectorTerms: [{ tags: { private: 1 } }],
        amiSelectorTerms: [{ name: 'a', owner: 12345678901 }],
        kubelet: { kubeReserved: { cpu: 1 }, clusterDNS: ['10.0.0.1'] },
      }),
    );
    expect(objects[0].spec).toMatchObject({
      subnetSelectorTerms: [{ tags: { private: '1' } }],
      amiSelectorTerms: [{ name: 'a', owner: '012345678901' }],
      kubelet: { kubeReserved: { cpu: '1' } },
    });
    expect(refusal(classOf({ ...whole, kubelet: { maxPods: 'many', evictionHard: [] } }))).toMatch(
      /maxPods|evictionHard/,
    );
  });

  test('ownerReferences are kept; dropped namespaces and selectors beside ids are reported', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }];
    const owned = run(classOf(whole, undefined, { ownerReferences, uid: 'x', namespace: 'n' }));
    expect(owned.objects[0].metadata).toEqual({ name: 'a', ownerReferences });
    expect(effects(owned.notes, 'lost')).toEqual(['metadata.namespace']);
    const { notes } = run(classOf({ ...whole, amiSelector: { 'aws::ids': 'ami-1', 'aws::owners': 'self' } }));
    expect(notes.filter(({ effect }) => effect === 'lost')).toMatchObject([{ message: 'the ids decide, aws::owners is dropped' }]); // prettier-ignore
  });

  test("a discovery tag without a cluster's name names no cluster", () => {
    for (const tag of ['true', 'owned', '*', '']) {
      const [object] = run(
        stringify({
          apiVersion: 'karpenter.k8s.aws/v1alpha1',
          kind: 'AWSNodeTemplate',
          metadata: { name: 'a' },
          spec: { subnetSelector: { 'karpenter.sh/discovery': tag } },
        }),
      ).objects;
      expect(object.spec.role).toBe('KarpenterNodeRole-CLUSTER_NAME');
      expect(object.spec.securityGroupSelectorTerms).toEqual(object.spec.subnetSelectorTerms);
    }
  });

  test('user data keeps its trailing line breaks, none or many', () => {
    const text = (userData: string) => `${classOf(whole)}  userData: ${userData}`;
    const userData = (userDataText: string) => run(text(userDataText)).objects[0].spec.userData;
    expect(userData('|\n    echo hi')).toBe('echo hi');
    expect(userData('|\n    echo hi\n')).toBe('echo hi\n');
    expect(userData('|+\n    echo hi\n\n---\n')).toBe('echo hi\n\n');
    const modern = run(text('|\n    echo hi')).yaml.replace('echo hi\n', '|\n    echo hi');
    expect(run(modern).objects[0].spec.userData).toBe('echo hi');
  });

  test('all problems are reported at once; --keep-going prints the valid objects, --strict fails on warnings', () => {
    const bad = poolOf({ template: { spec: { requirements: {} } }, weight: 'x' });
    const all = `${poolOf({ template })}---\n${bad}---\n${bad}`;
    expect(refusal(all).split('\n')).toHaveLength(6);
    const { objects, status } = run(all, { keepGoing: true });
    expect([objects.length, status]).toEqual([1, 2]);
    expect(run(classOf({ ...whole, unknown: 1 }), { strict: true }).status).toBe(1);
    expect(run(poolOf({ template }), { strict: true }).status).toBe(0);
  });

  test('unsupported versions, unknown kinds, patches and nested objects are reported as not converted', () => {
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      patches: [{ target: { group: 'karpenter.sh', version: 'v1beta1', kind: 'NodePool' }, patch: '[]' }],
    };
    const holder = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { pool: poolOf({ template }) },
    };
    const old = { apiVersion: 'karpenter.sh/v1alpha4', kind: 'Provisioner', metadata: { name: 'a' } };
    const never = { ...old, apiVersion: 'karpenter.k8s.aws/v1beta1', kind: 'AWSNodeTemplate' };
    const { notes } = run([kustomization, holder, old, never].map(stringify).join('---\n'));
    expect(notes.map(({ message }) => message)).toEqual([
      expect.stringContaining('a patch of NodePool v1beta1: render it first'),
      expect.stringContaining('it holds objects of an older Karpenter'),
      expect.stringContaining('karpenter.sh/v1alpha4 Provisioner is not read'),
      expect.stringContaining('karpenter.k8s.aws/v1beta1 AWSNodeTemplate is not read'),
    ]);
  });

  test("kubelet settings in Karpenter 1.0's annotation are reported", () => {
    const annotations = { 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': '{"maxPods":42}' };
    const spec = {
      ...template.spec,
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    };
    const text = stringify({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'a', annotations },
      spec: { template: { spec } },
    });
    expect(run(text).notes).toMatchObject([
      {
        effect: 'check',
        message: expect.stringContaining('write spec.kubelet {"maxPods":42} into EC2NodeClass default'),
      },
    ]);
  });

  test('Terraform placeholders are noted, variables in user data are kept, and Helm templates are refused', () => {
    const requirements = [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['${var.zone}'] }];
    const { notes } = run(poolOf({ template: { spec: { ...template.spec, requirements } } }));
    expect(effects(notes, 'check')).toEqual(['spec.template.spec.requirements[0].values[0]']);
    expect(effects(run(classOf({ ...whole, userData: 'echo ${A}' })).notes, 'check')).toEqual([]);
    expect(refusal(classOf({ ...whole, role: '{{ .Values.role }}' }))).toMatch(/spec\.role: .*Helm template/);
  });
});

describe('stowage convert on random old objects', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arbitrary, { nil: undefined });
  const tags = fc.dictionary(name, fc.constantFrom('a', 'a,b', '', '*', 'x, y'), { minKeys: 1, maxKeys: 2 });
  const key = fc.constantFrom(
    'kubernetes.io/arch',
    'karpenter.sh/capacity-type',
    'karpenter.k8s.aws/instance-family',
    'karpenter.k8s.aws/instance-pods',
    'karpenter.sh/provisioner-name',
    'example.com/team',
  );
  const requirement = fc.oneof(
    fc.record({
      key,
      operator: fc.constantFrom('In', 'NotIn'),
      values: fc.array(fc.oneof(name, fc.nat(9)), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    fc.record({ key, operator: fc.constantFrom('Gt', 'Lt'), values: fc.tuple(fc.nat(99).map(String)) }),
  );
  const kubelet = maybe(
    fc.record({
      maxPods: maybe(fc.nat(200)),
      clusterDNS: fc.constant(['10.0.0.10']),
      containerRuntime: maybe(fc.constant('dockerd')),
    }),
  );
  const limits = maybe(fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.oneof(fc.nat(1000), fc.constant('10Gi'))));
  const nodeClass = fc.record({
    amiFamily: maybe(fc.constantFrom('AL2', 'AL2023', 'Bottlerocket', 'Ubuntu', 'Windows2019')),
    subnetSelector: maybe(tags),
    securityGroupSelector: maybe(tags),
    amiSelector: maybe(fc.oneof(tags, fc.constant({ 'aws::name': 'n', 'aws::owners': 'self' }), fc.constant({}))),
    tags: maybe(fc.dictionary(fc.constantFrom('team', 'karpenter.sh/nodepool', 'kubernetes.io/cluster/c'), name)),
    launchTemplate: maybe(name),
    instanceProfile: maybe(name),
    blockDeviceMappings: maybe(
      fc.array(
        fc.record({
          deviceName: name,
          ebs: fc.record({ volumeSize: maybe(fc.constantFrom('20Gi', '500G', '20480Mi', '1Ti')) }),
        }),
        { maxLength: 2 },
      ),
    ),
    metadataOptions: maybe(fc.record({ httpTokens: maybe(fc.constantFrom('required', 'optional')) })),
  });
  const provisioner = fc.record({
    requirements: maybe(fc.array(requirement, { maxLength: 4 })),
    labels: maybe(fc.dictionary(key, name)),
    kubeletConfiguration: kubelet,
    limits: maybe(fc.record({ resources: limits })),
    weight: maybe(fc.nat(100)),
    ttlSecondsAfterEmpty: maybe(fc.nat(10_000)),
    ttlSecondsUntilExpired: maybe(fc.nat(10_000_000)),
    consolidation: maybe(fc.record({ enabled: maybe(fc.boolean()) })),
    providerRef: maybe(fc.record({ name })),
    provider: maybe(nodeClass),
    // `{{` is refused, as a template that was not rendered.
    surprise: maybe(
      fc.anything({ withBigInt: false, withDate: false }).filter((value) => !stringify(value ?? null).includes('{{')),
    ),
  });
  const budget = fc.record({
    nodes: fc.oneof(fc.nat(50), fc.constantFrom('10%', '5', '0')),
    schedule: maybe(fc.constantFrom('@daily', '0 9 * * mon-fri')),
    duration: maybe(fc.constantFrom('5m', '8h', '1h30m')),
    reasons: maybe(fc.subarray(['empty', 'Drifted', 'underutilized'])),
  });
  const pool = fc.record({
    disruption: maybe(
      fc.record({
        consolidationPolicy: maybe(fc.constantFrom('WhenUnderutilized', 'WhenEmpty')),
        consolidateAfter: maybe(fc.constantFrom('30s', 'Never', '1d')),
        expireAfter: maybe(fc.constantFrom('720h', 'Never', '30d')),
        budgets: maybe(fc.array(budget, { maxLength: 3 })),
      }),
    ),
    consolidation: maybe(fc.record({ enabled: fc.boolean() })),
    limits,
    weight: maybe(fc.nat(100)),
    template: fc.record({
      metadata: maybe(fc.record({ labels: maybe(fc.dictionary(key, name)) })),
      spec: fc.record({
        requirements: fc.array(requirement, { maxLength: 4 }),
        nodeClassRef: fc.record({ name }),
        kubelet,
      }),
    }),
  });
  const object = fc.oneof(
    provisioner.map((spec) => ({ apiVersion: 'karpenter.sh/v1alpha5', kind: 'Provisioner', spec })),
    pool.map((spec) => ({ apiVersion: 'karpenter.sh/v1beta1', kind: 'NodePool', spec })),
    nodeClass.map((spec) => ({ apiVersion: 'karpenter.k8s.aws/v1alpha1', kind: 'AWSNodeTemplate', spec })),
    fc.tuple(nodeClass, fc.constantFrom('AL2', 'Bottlerocket', 'Ubuntu'), tags).map(([spec, amiFamily, terms]) => ({
      apiVersion: 'karpenter.k8s.aws/v1beta1',
      kind: 'EC2NodeClass',
      // What v1beta1 requires.
      spec: { ...spec, amiFamily, subnetSelector: terms, securityGroupSelector: terms, instanceProfile: 'nodes' },
    })),
  );

  test('its output passes the schemas and loses no object', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, object), { minLength: 1, maxLength: 4 }), (drawn) => {
        const given = drawn.map(([own, each]) => ({ ...each, metadata: { name: own } }));
        const { objects } = run(given.map((each) => stringify(each)).join('---\n'));
        const problems = objects.flatMap((each) => {
          const parsed = customResourceOf(each.apiVersion, each.kind)?.parse(each);
          // What Karpenter's definition requires besides.
          const { disruption } = each.spec as { disruption?: { consolidateAfter?: string } };
          if (disruption !== undefined && each.kind === 'NodePool' && disruption.consolidateAfter === undefined) return ['consolidateAfter']; // prettier-ignore
          return parsed?.ok === true ? [] : [JSON.stringify(parsed?.error ?? each)];
        });
        expect(problems).toEqual([]);
        expect(objects.length).toBeGreaterThanOrEqual(given.length);
      }),
      { numRuns: 100 },
    );
  });
});
