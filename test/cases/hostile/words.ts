import type { Random } from '../random.js';

/** Names that every JavaScript object has, as far as they may be label keys, resource names and label values. */
export const inherited = [
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
] as const;

/** Keys that the API server accepts, and that code may mistake for members of objects. */
const otherKeys = [
  'constructor/valueOf',
  'proto/a__proto__a',
  'example.com/open',
  `${'a'.repeat(63)}.${'b'.repeat(63)}/${'c'.repeat(63)}`,
  'length',
  'name',
  '0',
] as const;

/** Keys with a meaning of their own. */
export const knownKeys = [
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/zone',
  'karpenter.sh/capacity-type',
  'karpenter.sh/nodepool',
  'karpenter.sh/registered',
] as const;

/** Text that no label may have; preferred affinity, annotations and names of volumes take it. */
const illegalText = [
  '__proto__',
  'not a label!',
  'x'.repeat(64),
  '',
  'é',
  '日本語',
  '\u{1d573}\u{1f4a3}',
  '\u202eabc',
  '\u001b[31mred\u001b[0m\u001b]0;title\u0007',
  'a\nb\r\nc',
  '-',
  '../../etc',
  '1e999',
  'NaN',
] as const;

/** A key that most nodes do not have. */
export const strangeKey = (random: Random): string => random.pick(random.chance(0.7) ? inherited : otherKeys);

export const anyKey = (random: Random): string => (random.chance(0.3) ? random.pick(knownKeys) : strangeKey(random));

/** A legal value of a label. */
export const labelValue = (random: Random): string =>
  random.chance(0.6) ? random.pick(inherited) : random.pick(['', '0', 'a__proto__a', 'true', 'y'.repeat(63), '1.5']);

export const anyValue = (random: Random): string =>
  random.chance(0.5) ? labelValue(random) : random.pick(illegalText);

export const manyOf = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Mostly few; sometimes up to `most`. */
export function aNumber(random: Random, most: number): number {
  const draw = random.next();
  if (draw < 0.75) return random.int(1, Math.min(4, most));
  return draw < 0.95 ? random.int(1, Math.min(30, most)) : most;
}

/** The first of each key stays. */
export const uniqueBy = <T>(list: readonly T[], key: (each: T) => string): T[] =>
  [...new Map([...list].reverse().map((each) => [key(each), each])).values()].reverse();

export const labelsOf = (random: Random, most = 8): Record<string, string> =>
  Object.fromEntries(manyOf(random.int(0, most), () => [strangeKey(random), labelValue(random)]));

const longText = `${'\u{1f4a3}__proto__ '.repeat(6000)}\u001b[2J`.slice(0, 60_000);

/** 64 KiB at most, of anything. */
export function annotationsOf(random: Random): Record<string, string> {
  const made: Record<string, string> = {};
  for (let n = random.int(0, 3); n > 0; n--) made[strangeKey(random)] = random.pick(illegalText);
  if (random.chance(0.1)) made['example.com/long'] = longText;
  return made;
}
