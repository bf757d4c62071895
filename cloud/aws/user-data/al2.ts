import { compareText } from '../../../core/text.js';
import { kubeletSettings, type KubeletSettings } from '../kubelet.js';
import { kubeletLabels, kubeletTaintText, type UserDataInput } from './input.js';
import { isMime, readMime, writeMime, type MimePart } from './mime.js';

const script = 'text/x-shellscript; charset="us-ascii"';

/** AL2: the user's parts first, then a call of the image's bootstrap script. */
export function al2UserData(input: UserDataInput): string {
  return writeMime([...customParts(input.custom), { contentType: script, body: bootstrap(input) }]).replaceAll(
    '\r',
    '',
  );
}

function customParts(custom: string | undefined): readonly MimePart[] {
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
export function kubeletArguments(input: UserDataInput): string[] {
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
