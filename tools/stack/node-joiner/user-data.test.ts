import { describe, expect, test } from '@jest/globals';
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { parseQuantity } from '../../../core/quantities.js';
import { resourcesOf } from './node.js';
import { emptyStart } from './kubelet-arguments.js';
import { parseToml, readUserData, refusedLabels } from './user-data.js';

const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

const mime = (...parts: [type: string, body: string][]): string =>
  [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="//"',
    '',
    ...parts.flatMap(([type, body]) => ['--//', `Content-Type: ${type}`, '', body]),
    '--//--',
  ].join('\n');

describe('the node joiner reads user data of', () => {
  test('AL2023: node configs merge, later lists replace, flags lose their quotes', () => {
    const custom =
      'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 5, kubeReserved: {cpu: 1m}}}}';
    const generated = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: { name: prod, apiServerEndpoint: "https://api", certificateAuthority: eA==, cidr: 10.100.0.0/16 }
  kubelet:
    config:
      maxPods: 58
      kubeReserved: { memory: 893Mi }
      registerWithTaints: [{ key: karpenter.sh/unregistered, effect: NoExecute }]
    flags: ['--node-labels="a=b,karpenter.sh/capacity-type=spot"']
  instance: { localStorage: { strategy: RAID0 } }`;
    const start = readUserData(
      mime(
        ['text/x-shellscript', '#!/bin/sh\necho hi'],
        ['application/node.eks.aws', custom],
        ['application/node.eks.aws', generated],
      ),
    );
    expect(start).toEqual({
      cluster: { name: 'prod', endpoint: 'https://api' },
      labels: { a: 'b', 'karpenter.sh/capacity-type': 'spot' },
      taints: [unregistered],
      maxPods: 58,
      kubeReserved: { cpu: '1m', memory: '893Mi' },
      raid0: true,
    });
  });

  test('AL2: bootstrap.sh and its kubelet flags', () => {
    const script = `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'prod' --apiserver-endpoint 'https://api' --b64-cluster-ca 'eA==' \\
--dns-cluster-ip '10.100.0.10' \\
--use-max-pods false \\
--kubelet-extra-args '--node-labels="a=b" --register-with-taints="k=v:NoSchedule,karpenter.sh/unregistered:NoExecute" --max-pods=110 --eviction-hard=memory.available<5%'`;
    expect(readUserData(mime(['text/x-shellscript; charset="us-ascii"', script]))).toEqual({
      cluster: { name: 'prod', endpoint: 'https://api' },
      labels: { a: 'b' },
      taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }, unregistered],
      maxPods: 110,
      evictionHard: { 'memory.available': '5%' },
    });
  });

  test('Bottlerocket: TOML', () => {
    const toml = `[settings]
[settings.kubernetes]
api-server = 'https://api'
cluster-name = 'prod'
max-pods = 29
[settings.kubernetes.node-labels]
'a.example/b' = 'c'
[settings.kubernetes.node-taints]
'karpenter.sh/unregistered' = [':NoExecute']
'k' = ['v:NoSchedule']
[settings.kubernetes.kube-reserved]
memory = '574Mi'
[settings.bootstrap-commands.000-mount-instance-storage]
commands = [['apiclient', 'ephemeral-storage', 'init']]
mode = 'always'`;
    expect(readUserData(toml)).toEqual({
      cluster: { name: 'prod', endpoint: 'https://api' },
      labels: { 'a.example/b': 'c' },
      taints: [unregistered, { key: 'k', value: 'v', effect: 'NoSchedule' }],
      maxPods: 29,
      kubeReserved: { memory: '574Mi' },
      raid0: true,
    });
  });

  test('Windows: the bootstrap script’s arguments', () => {
    const script = `<powershell>
Write-Host "hello"
[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"
& $EKSBootstrapScriptFile -EKSClusterName 'prod' -APIServerEndpoint 'https://api' -KubeletExtraArgs '--node-labels="a=b" --max-pods=110'
</powershell>`;
    expect(readUserData(script)).toEqual({
      cluster: { name: 'prod', endpoint: 'https://api' },
      labels: { a: 'b' },
      taints: [],
      maxPods: 110,
    });
  });

  test('no script that does something else', () => {
    expect(readUserData('#!/bin/sh\necho hello')).toBeUndefined();
    expect(readUserData('')).toBeUndefined();
  });

  test('kubelet refuses reserved labels except its own', () => {
    const labels = {
      'node.kubernetes.io/instance-type': 'x',
      'kubernetes.io/arch': 'amd64',
      'karpenter.k8s.aws/instance-family': 'm5',
      team: 'a',
      'node-restriction.kubernetes.io/x': 'y',
      'foo.k8s.io/x': 'y',
    };
    expect(refusedLabels(labels)).toEqual(['node-restriction.kubernetes.io/x', 'foo.k8s.io/x']);
  });
});

describe("the node joiner's TOML parser", () => {
  test('reads tables, quoted and dotted keys, and values', () => {
    expect(parseToml('# note\na.b = 1 # one\n"x=y" = true\n[t."u.v"]\nlist = [\n  "1",\n  \'2\',\n]\n')).toEqual({
      a: { b: 1 },
      'x=y': true,
      t: { 'u.v': { list: ['1', '2'] } },
    });
  });

  test('refuses invalid TOML', () => {
    expect(() => parseToml('hello world')).toThrow('no line of TOML');
  });
});

describe('the capacity that a joined node reports', () => {
  const disk = { diskGiB: 20, efaInterfaces: 0 };
  const m5large: InstanceTypeInfo = {
    VCpuInfo: { DefaultVCpus: 2 },
    MemoryInfo: { SizeInMiB: 8192 },
    NetworkInfo: { MaximumNetworkInterfaces: 3, Ipv4AddressesPerInterface: 10 },
  };

  test("of m5.large is that of kubelet's defaults", () => {
    const { capacity, allocatable, devices } = resourcesOf(m5large, emptyStart(), false, disk);
    expect(capacity).toMatchObject({ cpu: '2', pods: '29' });
    expect(allocatable['cpu']).toBe('1930m');
    const memory = parseQuantity(capacity['memory']!);
    // A real one reports 7,910,476 Ki; Karpenter's estimate, 92.5% of nominal, must not be above it.
    expect(memory / (8 * 2 ** 30)).toBeGreaterThan(0.925);
    expect(memory / (8 * 2 ** 30)).toBeLessThan(0.95);
    expect(memory - parseQuantity(allocatable['memory']!)).toBe((11 * 29 + 255 + 100) * 2 ** 20);
    expect(devices).toEqual({});
  });

  test('follows kubelet settings', () => {
    const start = {
      ...emptyStart(),
      maxPods: 110,
      podsPerCore: 10,
      kubeReserved: { cpu: '200m' },
      systemReserved: { memory: '100Mi' },
      evictionHard: { 'memory.available': '10%' },
    };
    const { capacity, allocatable } = resourcesOf(m5large, start, false, disk);
    expect(capacity['pods']).toBe('20');
    expect(allocatable['cpu']).toBe('1800m');
    const memory = parseQuantity(capacity['memory']!);
    const kept = memory - parseQuantity(allocatable['memory']!);
    expect(Math.abs(kept - (memory * 0.1 + (574 + 100) * 2 ** 20))).toBeLessThan(1024);
  });

  test('has local disks as storage of pods under RAID0 alone', () => {
    const withDisk = { ...m5large, InstanceStorageInfo: { TotalSizeInGB: 900 } };
    const bytes = (raid0: boolean): number =>
      parseQuantity(resourcesOf(withDisk, { ...emptyStart(), raid0 }, false, disk).capacity['ephemeral-storage']!);
    expect(bytes(false)).toBeLessThan(20 * 2 ** 30);
    expect(bytes(true)).toBeGreaterThan(890e9);
  });

  test('has accelerators as resources of device plugins', () => {
    const gpus = { ...m5large, GpuInfo: { Gpus: [{ Manufacturer: 'NVIDIA', Count: 8 }] } };
    expect(resourcesOf(gpus, emptyStart(), false, disk).devices).toEqual({ 'nvidia.com/gpu': '8' });
    const neurons = { ...m5large, NeuronInfo: { NeuronDevices: [{ Count: 16, CoreInfo: { Count: 2 } }] } };
    expect(resourcesOf(neurons, emptyStart(), false, disk).devices).toEqual({
      'aws.amazon.com/neuron': '16',
      'aws.amazon.com/neuroncore': '32',
    });
    const { devices } = resourcesOf(m5large, emptyStart(), false, { ...disk, efaInterfaces: 2 });
    expect(devices).toEqual({ 'vpc.amazonaws.com/efa': '2' });
  });
});
