import { parse, stringify } from 'yaml';
import { taints as taintNames } from '../../../api/labels.js';
import { DomainError } from '../../../core/failures.js';
import { bottlerocketUserData } from './bottlerocket.js';
import { kubeletLabels, type UserDataInput, kubeletTaintText } from './input.js';
import { kubeletSettings, type KubeletSettings } from '../kubelet.js';
import { isMime, type MimePart, readMime, writeMime } from './mime.js';
import { isSameTaint } from '../../../core/taints.js';
import { compareText } from '../../../core/text.js';

const nodeConfigType = 'application/node.eks.aws';

/** AL2023: the user's parts first, the generated NodeConfig last, since nodeadm gives precedence to the latter. */
function al2023UserData(input: UserDataInput): string {
  return writeMime([...customParts(input.custom), { contentType: nodeConfigType, body: nodeConfig(input) }]);
}

function customParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom.trim() === '') return [];
  if (isMime(custom)) return readMime(custom);
  if (isNodeConfig(custom)) return [{ contentType: nodeConfigType, body: custom }];
  return [{ contentType: 'text/x-shellscript; charset="us-ascii"', body: custom }];
}

function isNodeConfig(text: string): boolean {
  try {
    const document: unknown = parse(text, { logLevel: 'error' });
    return document !== null && typeof document === 'object' && 'kind' in document && document.kind === 'NodeConfig';
  } catch {
    return false;
  }
}

function nodeConfig(input: UserDataInput): string {
  if (input.serviceCidr === undefined) {
    throw new DomainError(
      'NodeClassNotReady',
      'ClusterCIDRResolutionFailed: AL2023 needs the address range of the services',
    );
  }
  const labels = kubeletLabels(input.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  return stringify(
    {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      metadata: {},
      spec: {
        cluster: {
          name: input.clusterName,
          apiServerEndpoint: input.clusterEndpoint,
          ...(input.caBundle === undefined ? {} : { certificateAuthority: input.caBundle }),
          cidr: input.serviceCidr,
        },
        kubelet: {
          config: {
            ...input.kubelet,
            maxPods: input.maxPods,
            registerWithTaints: input.taints.map(({ key, value, effect }) => ({
              key,
              ...(value === undefined ? {} : { value }),
              effect,
            })),
          },
          ...(labels === '' ? {} : { flags: [`--node-labels="${labels}"`] }),
        },
        ...(input.raid0 ? { instance: { localStorage: { strategy: 'RAID0' } } } : {}),
      },
    },
    // nodeadm reads YAML 1.1, in which `on` and `yes` are booleans.
    { lineWidth: 0, compat: 'yaml-1.1' },
  );
}

/** EC2's limit before encoding. */
export const userDataLimit = 16_384;

/**
 * User data of a node in the format of its AMI family (launch-templates/user-data); always adds the unregistered taint.
 * Throws `NodeClassNotReady` if the user's part cannot be parsed or the result exceeds EC2's limit.
 */
export function renderUserData(input: UserDataInput): string {
  // A NodePool may list the taint, too; kubelet does not start with one twice.
  const others = input.taints.filter((taint) => !isSameTaint(taint, taintNames.unregistered));
  const text = render({ ...input, taints: [...others, { ...taintNames.unregistered }] });
  const size = Buffer.byteLength(text);
  if (size > userDataLimit) {
    throw new DomainError(
      'NodeClassNotReady',
      `UserDataSizeLimitExceeded: ${size} bytes of user data, EC2 takes ${userDataLimit}`,
    );
  }
  return text;
}

function render(input: UserDataInput): string {
  switch (input.family) {
    case 'AL2':
      return al2UserData(input);
    case 'AL2023':
      return al2023UserData(input);
    case 'Bottlerocket':
      return bottlerocketUserData(input);
    case 'Windows2019':
    case 'Windows2022':
    case 'Windows2025':
      return windowsUserData(input);
    case 'Custom':
      return input.custom ?? '';
  }
}

/** Windows: the user's PowerShell first, then a call of the image's bootstrap script. */
function windowsUserData(input: UserDataInput): string {
  const dns = kubeletSettings(input.kubelet).clusterDNS?.[0];
  const call = [
    `& $EKSBootstrapScriptFile -EKSClusterName '${input.clusterName}' -APIServerEndpoint '${input.clusterEndpoint}'`,
    ...(input.caBundle === undefined ? [] : [`-Base64ClusterCA '${input.caBundle}'`]),
    `-KubeletExtraArgs '${kubeletArguments(input).join(' ')}'`,
    ...(dns === undefined ? [] : [`-DNSClusterIP '${dns}'`]),
  ].join(' ');
  return [
    '<powershell>',
    ...customLines(input.custom),
    '[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"',
    call,
    '</powershell>',
  ].join('\n');
}

function customLines(custom: string | undefined): string[] {
  if (custom === undefined || custom.trim() === '') return [];
  return [
    custom
      .replace(/^\s*<powershell>/i, '')
      .replace(/<\/powershell>\s*$/i, '')
      .trim(),
  ];
}

const script = 'text/x-shellscript; charset="us-ascii"';

/** AL2: the user's parts first, then a call of the image's bootstrap script. */
export function al2UserData(input: UserDataInput): string {
  return writeMime([...al2CustomParts(input.custom), { contentType: script, body: bootstrap(input) }]).replaceAll(
    '\r',
    '',
  );
}

function al2CustomParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom.trim() === '') return [];
  return isMime(custom) ? readMime(custom) : [{ contentType: script, body: custom }];
}

function bootstrap(input: UserDataInput): string {
  const dns = kubeletSettings(input.kubelet).clusterDNS?.[0];
  const options = [
    `--apiserver-endpoint '${input.clusterEndpoint}'`,
    ...(input.caBundle === undefined ? [] : [`--b64-cluster-ca '${input.caBundle}'`]),
    ...(dns?.includes(':') === true ? ['--ip-family ipv6'] : []),
    ...(dns === undefined ? [] : [`--dns-cluster-ip '${dns}'`]),
    '--use-max-pods false',
    `--kubelet-extra-args '${kubeletArguments(input).join(' ')}'`,
    ...(input.raid0 ? ['--local-disks raid0'] : []),
  ];
  return [
    '#!/bin/bash -xe',
    'exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1',
    `/etc/eks/bootstrap.sh '${input.clusterName}' ${options.join(' \\\n')}`,
  ].join('\n');
}

/** kubelet's command line for labels, taints and the settings that are flags. */
function kubeletArguments(input: UserDataInput): string[] {
  const settings = kubeletSettings(input.kubelet);
  const labels = kubeletLabels(input.labels).map(([key, value]) => `${key}=${value}`);
  return [
    ...(labels.length === 0 ? [] : [`--node-labels="${labels.join(',')}"`]),
    ...(input.taints.length === 0 ? [] : [`--register-with-taints="${input.taints.map(kubeletTaintText).join(',')}"`]),
    `--max-pods=${input.maxPods}`,
    ...flags(settings),
  ];
}

function flags(settings: KubeletSettings): string[] {
  const map = (flag: string, values: Readonly<Record<string, string>> | undefined, sign: string): string[] => {
    const entries = Object.entries(values ?? {}).sort(([a], [b]) => compareText(a, b));
    return entries.length === 0
      ? []
      : [`--${flag}="${entries.map(([key, value]) => `${key}${sign}${value}`).join(',')}"`];
  };
  const scalar = (flag: string, value: number | boolean | undefined): string[] =>
    value === undefined ? [] : [`--${flag}=${value}`];
  return [
    ...scalar('pods-per-core', settings.podsPerCore),
    ...map('system-reserved', settings.systemReserved, '='),
    ...map('kube-reserved', settings.kubeReserved, '='),
    ...map('eviction-hard', settings.evictionHard, '<'),
    ...map('eviction-soft', settings.evictionSoft, '<'),
    ...map('eviction-soft-grace-period', settings.evictionSoftGracePeriod, '='),
    ...scalar('eviction-max-pod-grace-period', settings.evictionMaxPodGracePeriod),
    ...scalar('image-gc-high-threshold', settings.imageGCHighThresholdPercent),
    ...scalar('image-gc-low-threshold', settings.imageGCLowThresholdPercent),
    ...scalar('cpu-cfs-quota', settings.cpuCFSQuota),
  ];
}
