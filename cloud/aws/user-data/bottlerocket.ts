import { parse, stringify } from 'smol-toml';
import { DomainError } from '../../../core/failures.js';
import { kubeletSettings, type KubeletSettings } from '../kubelet.js';
import { kubeletLabels, type UserDataInput } from './input.js';
import { lookUp } from '../../../core/own.js';
import { parserMessageOf } from '../../../core/error-message.js';
import type { EC2NodeClass } from '../../../api/aws/ec2-node-class.js';

type Table = Record<string, unknown>;

/** Bottlerocket: settings in TOML. Generated values override the user's; labels are merged, taints replaced. */
export function bottlerocketUserData(input: UserDataInput): string {
  const custom = readToml(input.custom);
  const settings = tableAt(custom, 'settings');
  const kubernetes = tableAt(settings, 'kubernetes');
  const merged: Table = {
    ...kubernetes,
    ...kubeletTable(kubeletSettings(input.kubelet)),
    'api-server': input.clusterEndpoint,
    'cluster-name': input.clusterName,
    ...(input.caBundle === undefined ? {} : { 'cluster-certificate': input.caBundle }),
    'max-pods': input.maxPods,
    'node-labels': { ...tableAt(kubernetes, 'node-labels'), ...Object.fromEntries(kubeletLabels(input.labels)) },
    'node-taints': taints(input),
  };
  return stringify({ ...custom, settings: { ...settings, kubernetes: merged, ...localDisks(input, settings) } });
}

function readToml(text: string | undefined): Table {
  try {
    return text === undefined ? {} : parse(text);
  } catch (error) {
    throw new DomainError('NodeClassNotReady', `spec.userData is not valid TOML: ${parserMessageOf(error)}`);
  }
}

function tableAt(table: Table, key: string): Table {
  const value = lookUp(table, key);
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Table) : {};
}

function taints(input: UserDataInput): Table {
  const byKey = new Map<string, string[]>();
  for (const { key, value, effect } of input.taints) {
    byKey.set(key, [...(byKey.get(key) ?? []), `${value ?? ''}:${effect}`]);
  }
  return Object.fromEntries(byKey);
}

function kubeletTable(settings: KubeletSettings): Table {
  const entries: [string, unknown][] = [
    ['cluster-dns-ip', settings.clusterDNS?.[0]],
    ['system-reserved', settings.systemReserved],
    ['kube-reserved', settings.kubeReserved],
    ['eviction-hard', settings.evictionHard],
    ['eviction-soft', settings.evictionSoft],
    ['eviction-soft-grace-period', settings.evictionSoftGracePeriod],
    ['eviction-max-pod-grace-period', settings.evictionMaxPodGracePeriod],
    ['image-gc-high-threshold-percent', text(settings.imageGCHighThresholdPercent)],
    ['image-gc-low-threshold-percent', text(settings.imageGCLowThresholdPercent)],
    ['cpu-cfs-quota-enforced', settings.cpuCFSQuota],
  ];
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function text(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}

const localDirectories = ['--dirs', '/var/lib/containerd', '/var/lib/kubelet', '/var/log/pods'];

/** Combines local disks into one RAID0 for kubelet and containerd. */
function localDisks(input: UserDataInput, settings: Table): Table {
  if (!input.raid0) return {};
  const command = {
    commands: [
      ['apiclient', 'ephemeral-storage', 'init'],
      ['apiclient', 'ephemeral-storage', 'bind', ...(input.bindsByDefault ? [] : localDirectories)],
    ],
    essential: true,
    mode: 'always',
  };
  return {
    'bootstrap-commands': { ...tableAt(settings, 'bootstrap-commands'), '000-mount-instance-storage': command },
  };
}

const version = /^v?(\d+)\.(\d+)\.\d+$/;

/**
 * Whether the Bottlerocket of a node class binds directories to local disks by default: since v1.46.0. The version is
 * that of the alias, or part of the names of images, such as bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a.
 */
export function bindsByDefault({ spec, status }: Pick<EC2NodeClass, 'spec' | 'status'>): boolean {
  const { amiSelectorTerms: terms } = spec;
  const alias = terms.find((term) => term.alias !== undefined)?.alias?.split('@')[1];
  if (alias === 'latest') return true;
  const names = [...terms.map((term) => term.name), ...(status?.amis ?? []).map((ami) => ami.name)];
  const named = names.filter((name) => name?.includes('bottlerocket')).flatMap((name) => name?.split('-') ?? []);
  const [, major, minor] =
    [alias ?? '', ...named].map((part) => version.exec(part)).find((match) => match !== null) ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 46);
}
