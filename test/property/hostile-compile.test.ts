import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { hostileNamespace, hostileObjects } from '../cases/hostile/index.js';
import { generate } from '../cases/index.js';
import { Random } from '../cases/random.js';
import { compile, type Compiled } from '../../packing/compile/compiled.js';
import { isPlain } from '../../packing/compile/pod-terms.js';
import { packingInputOf } from '../builders/packing-input.js';

// What is made of hostile objects before ordinary pods have their places: almost nothing, however many they are.
const firstSeed = Number(process.env['STOWAGE_SEED'] ?? 20_260_101);
const ordinary = generate('benchmark-mix', 200, 7);
const alone = compile(packingInputOf(ordinary));

const states = [firstSeed, firstSeed + 1].map((seed) => {
  const objects = [...ordinary.objects, ...hostileObjects(new Random(seed), 400)];
  const input = packingInputOf({ ...ordinary, objects });
  return { seed, input, compiled: compile(input) };
});

const podsOf = ({ queue }: Compiled): Pod[] => queue.flatMap(({ pods }) => pods);
const isHostile = ({ metadata }: Pod): boolean => metadata.namespace === hostileNamespace;

describe.each(states)('400 hostile objects beside ordinary pods (seed $seed)', ({ input, compiled }) => {
  test('pods among them that ask for CPU and memory alone are compiled into the classes of the ordinary ones', () => {
    const pods = podsOf(compiled);
    expect(pods.filter((pod) => !isHostile(pod))).toHaveLength(podsOf(alone).length);
    expect(pods.filter((pod) => isHostile(pod) && !isPlain(pod))).toEqual([]);
    expect(compiled.deferred.length).toBeGreaterThan(100);
    expect(compiled.dimensions.count).toBeLessThanOrEqual(alone.dimensions.count + 7);
  });

  test('the instance types considered are the same as without them', () => {
    expect(compiled.pools.length).toBeGreaterThan(alone.pools.length);
    const used = new Set(compiled.universe.rows.map(({ profile }) => profile.pool.name));
    expect([...used]).toEqual(['default']);
    expect(compiled.universe.rows.length).toBeLessThanOrEqual(8 * alone.universe.rows.length);
  });

  test('NodeOverlays change only the catalogues of NodePools that are used', () => {
    const types = new Set(compiled.pools.filter(({ name }) => name !== 'default').map((pool) => pool.types));
    expect(types.size).toBe(1);
  });

  test('hostile pods are planned in the next pass', () => {
    const next = compile({ ...input, resume: compiled.resume! });
    expect(podsOf(next).some((pod) => isHostile(pod) && !isPlain(pod))).toBe(true);
  });
});
