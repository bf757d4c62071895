import type { Taint, TaintEffect } from '../../../api/kubernetes.js';

/** Arguments of a kubelet, from user data of any format. */
export interface KubeletStart {
  cluster?: { name?: string; endpoint?: string };
  labels: Record<string, string>;
  taints: Taint[];
  maxPods?: number;
  podsPerCore?: number;
  kubeReserved?: Record<string, string>;
  systemReserved?: Record<string, string>;
  evictionHard?: Record<string, string>;
  /** Local NVMe disks are joined into one that holds pods' storage. */
  raid0?: boolean;
}

export const emptyStart = (): KubeletStart => ({ labels: {}, taints: [] });

/** `key=value:Effect` or `key:Effect`. */
export function parseTaint(text: string): Taint {
  const colon = text.lastIndexOf(':');
  if (colon < 0) throw new Error(`"${text}" is no taint: it has no effect`);
  const effect = text.slice(colon + 1) as TaintEffect;
  const [key = '', ...value] = text.slice(0, colon).split('=');
  return value.length > 0 ? { key, value: value.join('='), effect } : { key, effect };
}

/** `a=b,c=d` as kubelet's flags have it; `<` separates eviction signals from thresholds. */
function parsePairs(text: string, separator = '='): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const part of text.split(',').filter((each) => each !== '')) {
    const at = part.indexOf(separator);
    pairs[part.slice(0, at < 0 ? undefined : at).trim()] = at < 0 ? '' : part.slice(at + 1).trim();
  }
  return pairs;
}

export interface Word {
  text: string;
  /** Whether it began with a quote: such a word is a value even when it looks like a flag. */
  quoted: boolean;
}

/** Words of a command line; quotes group and vanish. */
export function words(line: string): Word[] {
  const found: Word[] = [];
  let quoted = false;
  let word: string | undefined;
  let quote = '';
  for (const char of line) {
    if (quote !== '') {
      if (char === quote) quote = '';
      else word = (word ?? '') + char;
    } else if (char === "'" || char === '"') {
      quote = char;
      if (word === undefined) quoted = true;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) found.push({ text: word, quoted });
      word = undefined;
      quoted = false;
    } else word = (word ?? '') + char;
  }
  if (word !== undefined) found.push({ text: word, quoted });
  return found;
}

/** Flags of a list of words, as `--name=value` or `--name value`. */
export function flagsOf(list: readonly Word[]): Map<string, string> {
  const flags = new Map<string, string>();
  for (let index = 0; index < list.length; index++) {
    const { text: word } = list[index]!;
    if (!word.startsWith('-')) continue;
    const equals = word.indexOf('=');
    const next = list[index + 1];
    const name = word.slice(0, equals < 0 ? undefined : equals).replace(/^-+/, '');
    if (equals >= 0) flags.set(name, word.slice(equals + 1));
    else if (next !== undefined && (next.quoted || !next.text.startsWith('-'))) flags.set(name, list[++index]!.text);
    else flags.set(name, '');
  }
  return flags;
}

/** Applies kubelet's command-line flags. */
export function applyKubeletFlags(start: KubeletStart, flags: ReadonlyMap<string, string>): void {
  const pairs = (name: string, separator?: string): Record<string, string> | undefined => {
    const value = flags.get(name);
    return value === undefined ? undefined : parsePairs(value, separator);
  };
  Object.assign(start.labels, pairs('node-labels') ?? {});
  const taints = flags.get('register-with-taints');
  if (taints !== undefined && taints !== '') start.taints.push(...taints.split(',').map(parseTaint));
  const maxPods = flags.get('max-pods');
  if (maxPods !== undefined) start.maxPods = Number(maxPods);
  const podsPerCore = flags.get('pods-per-core');
  if (podsPerCore !== undefined) start.podsPerCore = Number(podsPerCore);
  const reserved = { kubeReserved: pairs('kube-reserved'), systemReserved: pairs('system-reserved') };
  if (reserved.kubeReserved !== undefined) start.kubeReserved = reserved.kubeReserved;
  if (reserved.systemReserved !== undefined) start.systemReserved = reserved.systemReserved;
  const eviction = pairs('eviction-hard', '<');
  if (eviction !== undefined) start.evictionHard = eviction;
}
