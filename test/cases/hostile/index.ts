import type { KubernetesObject } from '../../../api/kubernetes.js';
import type { Random } from '../random.js';
import { others } from './others.js';
import { hostilePod, podTraits, type PodTrait } from './pods.js';
import { hostileOverlay, hostilePause, hostilePolicy, hostilePool } from './pools.js';

export { hostileNamespace, podTraits, type PodTrait } from './pods.js';

const names = ['constructor', 'tostring', 'valueof', 'isprototypeof', 'proto'] as const;

/** Of a hundred objects. */
const pods = 70;
const pools = 8;

/**
 * Objects that the API server takes and that are as nasty as they can be so: names that every JavaScript object has, values
 * that no label may have, a thousand preferences, three thousand values, rules that contradict each other, amounts beyond all
 * bounds. None asks by right for what keeps pods of other namespaces from their places. Equal seeds give equal objects.
 */
export function hostileObjects(random: Random, count: number): KubernetesObject[] {
  const known = new Set<string>();
  return Array.from({ length: count }, (_, n) => {
    const make = makerOf(random);
    const name = random.chance(0.2) ? 'constructor' : `${random.pick(names)}-${n}`;
    const made = make(random, name);
    const key = `${made.kind}/${name}`;
    if (known.has(key)) made.metadata.name = `${name}-${n}`;
    known.add(key);
    return made;
  });
}

function makerOf(random: Random): (random: Random, name: string) => KubernetesObject {
  const draw = random.int(0, 99);
  if (draw < pods) return (each, name) => hostilePod(each, name);
  return draw < pods + pools ? hostilePool : random.pick(rest);
}

const rest = [...others, hostileOverlay, hostilePolicy, hostilePause];

/** Pods alone, of the traits given. */
export const hostilePods = (random: Random, count: number, of: readonly PodTrait[] = podTraits): KubernetesObject[] =>
  Array.from({ length: count }, (_, n) => hostilePod(random, `pod-${n}`, [...of]));

/** NodePools alone. */
export const hostilePools = (random: Random, count: number): KubernetesObject[] =>
  Array.from({ length: count }, (_, n) => hostilePool(random, `pool-${n}`));
