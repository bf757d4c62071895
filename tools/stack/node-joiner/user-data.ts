import { parseAllDocuments } from 'yaml';
import type { Taint } from '../../../api/kubernetes.js';
import { applyKubeletFlags, emptyStart, flagsOf, type KubeletStart, parseTaint, words } from './kubelet-arguments.js';

interface NodeConfig {
  apiVersion?: string;
  kind?: string;
  spec?: {
    cluster?: { name?: string; apiServerEndpoint?: string };
    kubelet?: {
      config?: {
        registerWithTaints?: Taint[];
        maxPods?: number;
        podsPerCore?: number;
        kubeReserved?: Record<string, string>;
        systemReserved?: Record<string, string>;
        evictionHard?: Record<string, string>;
      };
      flags?: string[];
    };
    instance?: { localStorage?: { strategy?: string } };
  };
}

/** The parts of a MIME multipart message, each with its type; anything else is one part. */
function partsOf(text: string): { type: string; body: string }[] {
  const boundary = /^Content-Type:\s*multipart\/mixed;\s*boundary="?([^"\r\n;]+)"?/im.exec(text)?.[1];
  if (boundary === undefined) return [{ type: '', body: text }];
  return text
    .replaceAll('\r\n', '\n')
    .split(`--${boundary}`)
    .slice(1)
    .filter((part) => !part.startsWith('--'))
    .map((part) => {
      const [, head = '', body = ''] = /^\n?([\s\S]*?)\n\n([\s\S]*)$/.exec(part) ?? ['', '', part];
      return { type: /Content-Type:\s*([^;\s]+)/i.exec(head)?.[1] ?? '', body };
    });
}

/** As nodeadm merges configs: a later list replaces an earlier one, maps are merged. */
function readNodeConfig(start: KubeletStart, config: NodeConfig): void {
  const { cluster, kubelet, instance } = config.spec ?? {};
  if (cluster !== undefined) start.cluster = { ...start.cluster, ...clusterOf(cluster) };
  const settings = kubelet?.config ?? {};
  if (settings.registerWithTaints !== undefined) start.taints = settings.registerWithTaints;
  if (settings.maxPods !== undefined) start.maxPods = settings.maxPods;
  if (settings.podsPerCore !== undefined) start.podsPerCore = settings.podsPerCore;
  for (const name of ['kubeReserved', 'systemReserved', 'evictionHard'] as const) {
    if (settings[name] !== undefined) start[name] = { ...start[name], ...settings[name] };
  }
  // systemd splits the flags into words, which takes quotes away.
  applyKubeletFlags(start, flagsOf((kubelet?.flags ?? []).flatMap(words)));
  if (instance?.localStorage?.strategy === 'RAID0') start.raid0 = true;
}

function clusterOf({ name, apiServerEndpoint }: { name?: string; apiServerEndpoint?: string }): {
  name?: string;
  endpoint?: string;
} {
  return {
    ...(name !== undefined && { name }),
    ...(apiServerEndpoint !== undefined && { endpoint: apiServerEndpoint }),
  };
}

function readNodeConfigs(start: KubeletStart, body: string): boolean {
  let found = false;
  for (const document of parseAllDocuments(body)) {
    if ('errors' in document && document.errors.length > 0) throw document.errors[0]!;
    const config = (document as { toJS(): unknown }).toJS() as NodeConfig | null;
    if (config?.kind !== 'NodeConfig') continue;
    readNodeConfig(start, config);
    found = true;
  }
  return found;
}

/** AL2's `/etc/eks/bootstrap.sh CLUSTER --flags`; the last call counts. */
function readBootstrapScript(start: KubeletStart, body: string): boolean {
  const joined = body.replace(/\\\r?\n/g, ' ');
  const call = [...joined.matchAll(/^.*\/etc\/eks\/bootstrap\.sh\s+(.*)$/gm)].at(-1)?.[1];
  if (call === undefined) return false;
  const list = words(call);
  const flags = flagsOf(list);
  const endpoint = flags.get('apiserver-endpoint');
  start.cluster = { ...(list[0] !== undefined && { name: list[0].text }), ...(endpoint !== undefined && { endpoint }) };
  applyKubeletFlags(start, flagsOf(words(flags.get('kubelet-extra-args') ?? '')));
  if (flags.get('local-disks') === 'raid0') start.raid0 = true;
  return true;
}

/** Windows' `Start-EKSBootstrap.ps1 -Name value`. */
function readWindowsBootstrap(start: KubeletStart, body: string): boolean {
  const call = /&\s*(?:\$EKSBootstrapScriptFile|\S*Start-EKSBootstrap\.ps1)\s+(.*)$/m.exec(body)?.[1];
  if (call === undefined) return false;
  const flags = flagsOf(words(call));
  const [name, endpoint] = [flags.get('EKSClusterName'), flags.get('APIServerEndpoint')];
  start.cluster = { ...(name !== undefined && { name }), ...(endpoint !== undefined && { endpoint }) };
  applyKubeletFlags(start, flagsOf(words(flags.get('KubeletExtraArgs') ?? '')));
  return true;
}

const table = (value: TomlValue | undefined): TomlTable =>
  typeof value === 'object' && !Array.isArray(value) ? value : {};

const textOf = (value: TomlValue): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

const strings = (value: TomlValue | undefined): Record<string, string> | undefined =>
  value === undefined
    ? undefined
    : Object.fromEntries(Object.entries(table(value)).map(([key, each]) => [key, textOf(each)]));

function readBottlerocket(start: KubeletStart, body: string): boolean {
  const settings = table(parseToml(body)['settings']);
  const kubernetes = table(settings['kubernetes']);
  if (Object.keys(kubernetes).length === 0) return false;
  const [name, endpoint] = [kubernetes['cluster-name'], kubernetes['api-server']];
  start.cluster = {
    ...(typeof name === 'string' && { name }),
    ...(typeof endpoint === 'string' && { endpoint }),
  };
  Object.assign(start.labels, strings(kubernetes['node-labels']) ?? {});
  for (const [key, value] of Object.entries(table(kubernetes['node-taints']))) {
    for (const each of Array.isArray(value) ? value : [value]) {
      const text = textOf(each);
      start.taints.push(parseTaint(text.startsWith(':') ? `${key}${text}` : `${key}=${text}`));
    }
  }
  if (typeof kubernetes['max-pods'] === 'number') start.maxPods = kubernetes['max-pods'];
  const maps = {
    kubeReserved: 'kube-reserved',
    systemReserved: 'system-reserved',
    evictionHard: 'eviction-hard',
  } as const;
  for (const [field, key] of Object.entries(maps)) {
    const value = strings(kubernetes[key]);
    if (value !== undefined) start[field as keyof typeof maps] = value;
  }
  const commands = table(settings['bootstrap-commands']);
  if (Object.keys(commands).some((each) => each.includes('mount-instance-storage'))) start.raid0 = true;
  return true;
}

/**
 * What the user data of an instance makes its kubelet do, read as AL2023 (NodeConfig), AL2 (bootstrap.sh),
 * Bottlerocket (TOML) and Windows nodes read theirs; undefined when it starts no kubelet. Throws when the node's own
 * reader would fail on it.
 */
export function readUserData(text: string): KubeletStart | undefined {
  const start = emptyStart();
  let found = false;
  for (const { body } of partsOf(text)) {
    if (body.includes('kind: NodeConfig') || /"kind"\s*:\s*"NodeConfig"/.test(body)) {
      found = readNodeConfigs(start, body) || found;
    } else if (body.includes('/etc/eks/bootstrap.sh')) found = readBootstrapScript(start, body) || found;
    else if (body.includes('EKSBootstrap')) found = readWindowsBootstrap(start, body) || found;
    else if (/^\s*\[settings\b/m.test(body) || /^\s*settings\./m.test(body))
      found = readBottlerocket(start, body) || found;
  }
  return found ? start : undefined;
}

const allowedKubeletLabels = new Set([
  'kubernetes.io/hostname', 'kubernetes.io/instance-type', 'kubernetes.io/os', 'kubernetes.io/arch',
  'beta.kubernetes.io/instance-type', 'beta.kubernetes.io/os', 'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone', 'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/region',
]); // prettier-ignore

/** The labels for which a real kubelet refuses to start: `kubernetes.io` and `k8s.io` keys outside its own list. */
export function refusedLabels(labels: Readonly<Record<string, string>>): string[] {
  return Object.keys(labels).filter((key) => {
    const namespace = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
    const reserved = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(namespace);
    const own = /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(namespace);
    return reserved && !own && !allowedKubeletLabels.has(key);
  });
}

/** A TOML value of the kinds that Bottlerocket's settings use. */
type TomlValue = string | number | boolean | TomlValue[] | TomlTable;
interface TomlTable {
  [key: string]: TomlValue;
}

/** A dotted key, whose parts may be quoted. */
function keyPath(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|([^.\s]+)/g)].map((part) => part[1] ?? part[2] ?? part[3] ?? '');
}

function tableAt(root: TomlTable, path: readonly string[]): TomlTable {
  let at = root;
  for (const step of path) {
    const next = at[step];
    at = typeof next === 'object' && !Array.isArray(next) ? next : (at[step] = {});
  }
  return at;
}

/** The items of an array, which may be arrays and strings that hold commas. */
function splitItems(text: string): string[] {
  const items = [''];
  let depth = 0;
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^"']/g) ?? []) {
    if (token === '[') depth++;
    if (token === ']') depth--;
    if (token === ',' && depth === 0) items.push('');
    else items.push((items.pop() ?? '') + token);
  }
  return items.filter((item) => item.trim() !== '');
}

function parseValue(text: string): TomlValue {
  const value = text.trim();
  if (value.startsWith('[')) {
    return splitItems(value.slice(1, value.lastIndexOf(']'))).map(parseValue);
  }
  if (value.startsWith('"')) return JSON.parse(value.slice(0, value.lastIndexOf('"') + 1)) as string;
  if (value.startsWith("'")) return value.slice(1, value.lastIndexOf("'"));
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value.replace(/\s*#.*$/, '').replaceAll('_', ''));
  if (Number.isNaN(number)) throw new Error(`"${value}" is no TOML value`);
  return number;
}

/** Position of the `=` that ends the key; keys may be quoted and hold one. */
function endOfKey(line: string): number {
  const match = /^\s*(?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*\s*=/.exec(line);
  if (match === null) throw new Error(`"${line}" is no line of TOML`);
  return match[0].length - 1;
}

/** Parses tables, dotted keys, strings, numbers, booleans and arrays (also over several lines). Throws on other lines. */
export function parseToml(document: string): TomlTable {
  const root: TomlTable = {};
  let table = root;
  const lines = document.split('\n');
  for (let index = 0; index < lines.length; index++) {
    let line = lines[index]!.trim();
    if (line === '' || line.startsWith('#')) continue;
    const header = /^\[([^[\]]+)\]\s*(#.*)?$/.exec(line);
    if (header !== null) {
      table = tableAt(root, keyPath(header[1]!));
      continue;
    }
    const at = endOfKey(line);
    while (
      line
        .slice(at + 1)
        .trimStart()
        .startsWith('[') &&
      !line.includes(']', at) &&
      index + 1 < lines.length
    ) {
      line += ` ${lines[++index]!.trim()}`;
    }
    const path = keyPath(line.slice(0, at));
    tableAt(table, path.slice(0, -1))[path.at(-1)!] = parseValue(line.slice(at + 1));
  }
  return root;
}
