import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import type { EC2NodeClass } from '../../../api/aws/ec2-node-class.js';
import { isDomainError } from '../../../core/failures.js';
import { bindsByDefault } from './bottlerocket.js';
import type { UserDataInput } from './input.js';
import { isMime, readMime, writeMime } from './mime.js';
import { renderUserData } from './user-data.js';

const input = (more: Partial<UserDataInput> = {}): UserDataInput => ({
  family: 'AL2023',
  clusterName: 'prod',
  clusterEndpoint: 'https://prod.example',
  caBundle: 'Q0E=',
  serviceCidr: '10.100.0.0/16',
  kubelet: {},
  maxPods: 29,
  labels: {
    'karpenter.sh/nodepool': 'general',
    team: 'blue',
    'kubernetes.io/os': 'linux',
    'sub.node-restriction.kubernetes.io/x': 'y',
  },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
  custom: undefined,
  raid0: false,
  bindsByDefault: false,
  ...more,
});

const nodeConfig = (text: string): unknown => parseYaml(readMime(text).at(-1)!.body);

// Rule `launch-templates/user-data`.
describe('AL2023', () => {
  test('a NodeConfig with the cluster, kubelet settings, labels that kubelet may set, and taints', () => {
    const text = renderUserData(
      input({ kubelet: { maxPods: 5, evictionHard: { 'memory.available': '5%' } }, raid0: true }),
    );
    expect(text.startsWith('MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//\n')).toBe(true);
    expect(readMime(text).map((part) => part.contentType)).toEqual(['application/node.eks.aws']);
    expect(nodeConfig(text)).toEqual({
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      metadata: {},
      spec: {
        cluster: {
          name: 'prod',
          apiServerEndpoint: 'https://prod.example',
          certificateAuthority: 'Q0E=',
          cidr: '10.100.0.0/16',
        },
        kubelet: {
          config: {
            maxPods: 29,
            evictionHard: { 'memory.available': '5%' },
            registerWithTaints: [
              { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
              { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
            ],
          },
          flags: ['--node-labels="karpenter.sh/nodepool=general,team=blue"'],
        },
        instance: { localStorage: { strategy: 'RAID0' } },
      },
    });
  });

  test.each([
    ['a script', '#!/bin/bash\necho hi', ['text/x-shellscript; charset="us-ascii"', 'application/node.eks.aws']],
    [
      'a NodeConfig',
      'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}',
      ['application/node.eks.aws', 'application/node.eks.aws'],
    ],
    [
      'a MIME document',
      writeMime([
        { contentType: 'text/cloud-config', body: '#cloud-config' },
        { contentType: 'text/x-shellscript', body: 'echo 1' },
      ]),
      ['text/cloud-config', 'text/x-shellscript', 'application/node.eks.aws'],
    ],
    ['blank user data', '  ', ['application/node.eks.aws']],
  ])('%s of the user precedes the generated NodeConfig', (_, custom, types) => {
    expect(readMime(renderUserData(input({ custom }))).map((part) => part.contentType)).toEqual(types);
  });

  test('values that YAML 1.1 reads as booleans stay strings', () => {
    const taints = [{ key: 'dedicated', value: 'on', effect: 'NoSchedule' as const }];
    const body = readMime(renderUserData(input({ taints }))).at(-1)!.body;
    const read = parseYaml(body, { version: '1.1' }) as {
      spec: { kubelet: { config: { registerWithTaints: object[] } } };
    };
    expect(read.spec.kubelet.config.registerWithTaints[0]).toEqual(taints[0]);
  });

  test('the unregistered taint is there once, also where the NodePool lists it', () => {
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' as const };
    expect(nodeConfig(renderUserData(input({ taints: [unregistered] })))).toMatchObject({
      spec: { kubelet: { config: { registerWithTaints: [unregistered] } } },
    });
  });

  test('without the address range of services the node class is not ready', () => {
    expect(() => renderUserData(input({ serviceCidr: undefined }))).toThrow('ClusterCIDRResolutionFailed');
  });
});

test('AL2: the bootstrap script with flags, after the user’s part, without carriage returns', () => {
  const text = renderUserData(
    input({
      family: 'AL2',
      custom: 'echo hi\r\n',
      kubelet: {
        clusterDNS: ['fd00::a'],
        systemReserved: { cpu: '100m', memory: '1Gi' },
        evictionHard: { 'memory.available': '5%' },
      },
      raid0: true,
    }),
  );
  expect(text).not.toContain('\r');
  const [custom, bootstrap] = readMime(text);
  expect(custom?.body).toBe('echo hi');
  expect(bootstrap?.body).toContain("/etc/eks/bootstrap.sh 'prod' --apiserver-endpoint 'https://prod.example'");
  expect(bootstrap?.body).toContain("--ip-family ipv6 \\\n--dns-cluster-ip 'fd00::a' \\\n--use-max-pods false");
  expect(bootstrap?.body).toContain(
    `--kubelet-extra-args '--node-labels="karpenter.sh/nodepool=general,team=blue" ` +
      `--register-with-taints="dedicated=gpu:NoSchedule,karpenter.sh/unregistered=:NoExecute" --max-pods=29 ` +
      `--system-reserved="cpu=100m,memory=1Gi" --eviction-hard="memory.available<5%"'`,
  );
  expect(bootstrap?.body.endsWith('--local-disks raid0')).toBe(true);
});

describe('Bottlerocket', () => {
  test("the cluster's settings come first, labels are merged, taints are replaced, other settings stay", () => {
    const custom = [
      '[settings.kubernetes]',
      'api-server = "https://other"',
      'allowed-unsafe-sysctls = ["net.core.somaxconn"]',
      '[settings.kubernetes.node-labels]',
      'own = "yes"',
      '[settings.kubernetes.node-taints]',
      'old = ["x:NoSchedule"]',
      '[settings.host-containers.admin]',
      'enabled = true',
    ].join('\n');
    const toml: unknown = parseToml(renderUserData(input({ family: 'Bottlerocket', custom, raid0: true })));
    expect(toml).toMatchObject({
      settings: {
        'host-containers': { admin: { enabled: true } },
        kubernetes: {
          'api-server': 'https://prod.example',
          'cluster-name': 'prod',
          'cluster-certificate': 'Q0E=',
          'max-pods': 29,
          'allowed-unsafe-sysctls': ['net.core.somaxconn'],
          'node-labels': { own: 'yes', team: 'blue', 'karpenter.sh/nodepool': 'general' },
        },
        'bootstrap-commands': { '000-mount-instance-storage': { essential: true, mode: 'always' } },
      },
    });
    expect((toml as { settings: { kubernetes: Record<string, unknown> } }).settings.kubernetes['node-taints']).toEqual({
      dedicated: ['gpu:NoSchedule'],
      'karpenter.sh/unregistered': [':NoExecute'],
    });
  });

  test.each([
    [[{ alias: 'bottlerocket@latest' }], [], true],
    [[{ alias: 'bottlerocket@v1.46.0' }], [], true],
    [[{ alias: 'bottlerocket@1.45.9' }], [], false],
    [[{ name: 'bottlerocket-aws-k8s-1.33-x86_64-v1.50.0-*' }], [], true],
    [[{ id: 'ami-1' }], ['bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a'], true],
    [[{ id: 'ami-1' }], ['ours-v9.9.9', 'bottlerocket-aws-k8s-1.33-x86_64-v1.20.0-431fe75a'], false],
    [[{ id: 'ami-1' }], [], false],
  ])('sets up local disks by itself from v1.46 on: %j %j %s', (amiSelectorTerms, names, known) => {
    const amis = names.map((name) => ({ id: name, name, requirements: [] }));
    const nodeClass = { spec: { amiSelectorTerms }, status: { amis } } as unknown as EC2NodeClass;
    const text = renderUserData(
      input({ family: 'Bottlerocket', raid0: true, bindsByDefault: bindsByDefault(nodeClass) }),
    );
    expect(text.includes('--dirs')).toBe(!known);
    expect(text).toContain('"bind"');
  });

  test('invalid TOML as Bottlerocket user data makes the node class not Ready', () => {
    let failure: unknown;
    try {
      renderUserData(input({ family: 'Bottlerocket', custom: '#!/bin/bash\n[' }));
    } catch (error) {
      failure = error;
    }
    expect(isDomainError(failure, 'NodeClassNotReady')).toBe(true);
    expect((failure as Error).message).toMatch(/^spec\.userData is not valid TOML: /);
  });
});

test('Windows: the user’s PowerShell, then the bootstrap script', () => {
  const lines = renderUserData(
    input({
      family: 'Windows2022',
      custom: '<powershell>\nWrite-Host hi\n</powershell>',
      kubelet: { clusterDNS: ['10.0.0.10'] },
    }),
  ).split('\n');
  expect(lines[0]).toBe('<powershell>');
  expect(lines[1]).toBe('Write-Host hi');
  expect(lines.at(-2)).toContain(
    "-EKSClusterName 'prod' -APIServerEndpoint 'https://prod.example' -Base64ClusterCA 'Q0E='",
  );
  expect(lines.at(-2)).toContain("-DNSClusterIP '10.0.0.10'");
  expect(lines.at(-1)).toBe('</powershell>');
});

test('user data of Custom is passed verbatim', () => {
  expect(renderUserData(input({ family: 'Custom', custom: 'anything\r\n' }))).toBe('anything\r\n');
  expect(renderUserData(input({ family: 'Custom' }))).toBe('');
});

// Rule `launch-templates/user-data-size`.
test('user data larger than EC2 accepts is refused', () => {
  expect(() => renderUserData(input({ family: 'Custom', custom: 'x'.repeat(16_385) }))).toThrow(
    'UserDataSizeLimitExceeded',
  );
});

describe('MIME documents of the user', () => {
  const packed = gzipSync('#!/bin/sh\necho hi').toString('base64');
  const document = [
    'Content-Type: multipart/mixed;',
    ' boundary="==B=="',
    'MIME-Version: 1.0',
    '',
    '--==B==',
    'Content-Type: text/x-shellscript;',
    ' charset="us-ascii"',
    'MIME-Version: 1.0',
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename="join.sh"',
    '',
    packed,
    '--==B==',
    'Content-Type: text/cloud-config',
    '',
    '#cloud-config',
    '--==B==--',
  ].join('\r\n');

  test("are read with each part's headers and its unchanged body", () => {
    expect(isMime(document)).toBe(true);
    expect(readMime(document)).toEqual([
      {
        contentType: 'text/x-shellscript; charset="us-ascii"',
        headers: [
          'MIME-Version: 1.0',
          'Content-Transfer-Encoding: base64',
          'Content-Disposition: attachment; filename="join.sh"',
        ],
        body: packed,
      },
      { contentType: 'text/cloud-config', headers: [], body: '#cloud-config' },
    ]);
  });

  test.each(['AL2', 'AL2023'] as const)('reach %s nodes with headers and packed content', (family) => {
    const [script] = readMime(renderUserData(input({ family, custom: document })));
    expect(script?.headers).toContain('Content-Transfer-Encoding: base64');
    expect(script?.headers).toContain('Content-Disposition: attachment; filename="join.sh"');
    expect(gunzipSync(Buffer.from(script?.body ?? '', 'base64')).toString()).toBe('#!/bin/sh\necho hi');
  });

  test("with a line like Stowage's boundary keep it", () => {
    const body = 'cat <<EOF\n--//\nnot a part\nEOF';
    const text = writeMime([{ contentType: 'text/x-shellscript', body }]);
    expect(readMime(text)).toEqual([{ contentType: 'text/x-shellscript', headers: [], body }]);
  });

  const refused = [
    ['no type', 'MIME-Version: 1.0\n\n--//\n\necho hi\n--//--', 'its headers have none'],
    ['one part', 'Content-Type: text/x-shellscript\n\n#!/bin/sh', 'it is text/x-shellscript'],
    ['no boundary', 'MIME-Version: 1.0\nContent-Type: multipart/mixed\n\n--//\n', 'it is multipart/mixed'],
    ['nothing behind its headers', 'MIME-Version: 1.0', 'its headers have none'],
  ] as const;

  test.each(refused)('with %s are refused', (_what, custom, found) => {
    for (const family of ['AL2', 'AL2023'] as const)
      expect(() => renderUserData(input({ family, custom }))).toThrow(
        `its Content-Type must be multipart, with a boundary: ${found}`,
      );
  });

  test('are not assumed for a script that writes such headers', () => {
    const custom = '#!/bin/sh\ncat <<EOF > mail\nContent-Type: text/plain\nEOF';
    const [script] = readMime(renderUserData(input({ family: 'AL2023', custom })));
    expect(script).toMatchObject({ contentType: 'text/x-shellscript; charset="us-ascii"', body: custom });
  });

  // Steps that grow with the square of the white space would take minutes.
  test.each([
    ['blanks', ' '],
    ['line ends', '\n'],
  ])('with 300,000 %s in a row are read', (_what, blank) => {
    const blanks = blank.repeat(300_000);
    const body = `a${blanks}b`;
    expect(isMime(`#!/bin/sh${blanks}boundary=`)).toBe(false);
    expect(readMime(writeMime([{ contentType: 'text/x-shellscript', body }]))).toEqual([
      { contentType: 'text/x-shellscript', headers: [], body },
    ]);
  });
});
