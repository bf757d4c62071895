import type { BinProblem, Cap } from '../../packing/bins/problem.js';

const mebi = 2 ** 20;
const gibi = 2 ** 30;

/** A small seeded generator of numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface CaseOffer {
  readonly price: number;
  readonly capacity: readonly number[];
  readonly zone: number;
  readonly onDemand: boolean;
}

export interface CaseItem {
  readonly demand: readonly number[];
  readonly pods: number;
  /** Only this zone. */
  readonly zone?: number;
  readonly onDemandOnly?: boolean;
}

/** Builds a problem of plain lists; equal restrictions share one allowed set. */
export function problemOf(
  offers: readonly CaseOffer[],
  items: readonly CaseItem[],
  more: Partial<Pick<BinProblem, 'caps' | 'conflicts' | 'limits'>> = {},
): BinProblem {
  const dimensions = offers[0]!.capacity.length;
  const sets = new Map<string, Uint32Array>();
  const allowed = items.map((item) => {
    const key = `${item.zone ?? '*'}/${item.onDemandOnly ?? false}`;
    let set = sets.get(key);
    if (set === undefined) {
      set = new Uint32Array((offers.length + 31) >>> 5);
      for (const [o, offer] of offers.entries()) {
        if (item.zone !== undefined && offer.zone !== item.zone) continue;
        if (item.onDemandOnly === true && !offer.onDemand) continue;
        set[o >>> 5] = set[o >>> 5]! | (1 << (o & 31));
      }
      sets.set(key, set);
    }
    return set;
  });
  return {
    dimensions,
    offers: {
      count: offers.length,
      price: Float64Array.from(offers, (offer) => offer.price),
      capacity: Float64Array.from(offers.flatMap((offer) => offer.capacity)),
    },
    items: {
      count: items.length,
      pods: Int32Array.from(items, (item) => item.pods),
      demand: Float64Array.from(items.flatMap((item) => item.demand)),
      allowed,
    },
    caps: more.caps ?? [],
    conflicts: more.conflicts ?? [],
    limits: more.limits ?? [],
  };
}

/** Karpenter's fake catalogue: n vCPU, 2n GiB, 10n pods, price linear; less what the kubelet keeps. Dimensions: cpu, memory, pods. */
export function linearCatalogue(types: number): CaseOffer[] {
  const offers: CaseOffer[] = [];
  for (let n = 1; n <= types; n++) {
    const capacity = [1000 * n - 100, 2 * gibi * n - 10 * mebi, 10 * n];
    const price = 0.025 * n + 0.001 * ((2 * gibi * n) / 1e9);
    for (let zone = 0; zone < 3; zone++) {
      for (const onDemand of [false, true]) offers.push({ price, capacity, zone, onDemand });
    }
  }
  return offers;
}

const cpus = [100, 250, 500, 1000, 1500];
const memories = [100, 256, 512, 1024, 2048, 4096];

/** `pods` pods of random shape, none restricted. */
export function genericCase(pods: number, types = 400, seed = 1): BinProblem {
  const random = seeded(seed);
  const counts = new Int32Array(30);
  for (let n = 0; n < pods; n++) counts[Math.floor(random() * 30)]!++;
  const items = shapes(counts).map((item) => ({ ...item }));
  return problemOf(linearCatalogue(types), items);
}

function shapes(counts: Int32Array): CaseItem[] {
  return [...counts]
    .map((pods, s) => ({ demand: [cpus[s % 5]!, memories[Math.floor(s / 5)]! * mebi, 1], pods }))
    .filter((item) => item.pods > 0);
}

/** Karpenter's benchmark mix with zones decided: a fifth each generic, zone spread, hostname spread, zone affinity, hostname anti-affinity. */
export function mixCase(pods: number, types = 400, seed = 1): BinProblem {
  const random = seeded(seed);
  const items: CaseItem[] = [];
  const caps: Cap[] = [];
  const add = (count: number, restriction: Partial<CaseItem>): Int32Array => {
    const counts = new Int32Array(30);
    for (let n = 0; n < count; n++) counts[Math.floor(random() * 30)]!++;
    const added = shapes(counts).map((item) => ({ ...item, ...restriction }));
    const first = items.length;
    items.push(...added);
    return Int32Array.from(added, (_, k) => first + k);
  };
  const fifth = Math.floor(pods / 5);
  add(fifth, {});
  for (let zone = 0; zone < 3; zone++) add(Math.floor(fifth / 3), { zone });
  for (let label = 0; label < 7; label++) caps.push({ items: add(Math.floor(fifth / 7), {}), max: 1 });
  for (let label = 0; label < 7; label++) add(Math.floor(fifth / 7), { zone: label % 3 });
  caps.push({ items: add(fifth, {}), max: 1 });
  return problemOf(linearCatalogue(types), items, { caps });
}

/** EC2-like: families of 2, 4 and 8 GiB a vCPU in generations, 3 zones, spot and on-demand, GPUs. Dimensions: cpu, memory, pods, gpu. */
export function ec2Catalogue(seed = 7): CaseOffer[] {
  const random = seeded(seed);
  const offers: CaseOffer[] = [];
  const sizes = [2, 4, 8, 16, 32, 48, 64, 96, 128, 192];
  const families = [2, 4, 8].flatMap((ratio) =>
    Array.from({ length: 26 }, (_, g) => ({ ratio, rate: (0.034 + 0.0035 * ratio) * (0.9 + 0.02 * g), gpus: 0 })),
  );
  families.push({ ratio: 4, rate: 0.13, gpus: 1 }, { ratio: 8, rate: 0.38, gpus: 4 });
  for (const { ratio, rate, gpus } of families) {
    for (const size of sizes) {
      const reserved = 80 + 10 * Math.log2(size) + 150;
      const capacity = [
        Math.floor(1000 * size - reserved),
        Math.floor(size * ratio * gibi * 0.925 - 700 * mebi),
        Math.min(737, size <= 2 ? 29 : size <= 8 ? 58 : 234) - 3,
        gpus === 0 ? 0 : Math.max(1, Math.floor((gpus * size) / 16)),
      ];
      for (let zone = 0; zone < 3; zone++) {
        const price = rate * size;
        offers.push({ price, capacity, zone, onDemand: true });
        offers.push({ price: price * (0.3 + 0.4 * random()), capacity, zone, onDemand: false });
      }
    }
  }
  return offers;
}

/** Deployments of 1 to 200 equal pods: some zonal, some on-demand only, some with GPUs, some kept apart by hostname. */
export function realisticCase(
  pods: number,
  options: { apart?: number; classes?: number; seed?: number } = {},
): BinProblem {
  const random = seeded(options.seed ?? 3);
  const items: CaseItem[] = [];
  const caps: Cap[] = [];
  let placed = 0;
  while (placed < pods) {
    const size =
      Math.floor(options.classes === undefined ? 1 + 199 * random() ** 2 : (2 * random() * pods) / options.classes) + 1;
    const count = Math.min(size, pods - placed);
    const cpu = [50, 100, 200, 250, 400, 500, 750, 1000, 1500, 2000, 4000][Math.floor(random() * 11)]!;
    const memory = Math.floor((cpu / 1000) * [1, 2, 3, 4, 6, 8][Math.floor(random() * 6)]! * 1024 + 64) * mebi;
    const gpu = random() < 0.03 ? 1 : 0;
    items.push({
      demand: [cpu, memory, 1, gpu],
      pods: count,
      ...(random() < 0.3 ? { zone: Math.floor(random() * 3) } : {}),
      ...(random() < 0.3 ? { onDemandOnly: true } : {}),
    });
    if (random() < (options.apart ?? 0)) {
      caps.push({ items: Int32Array.of(items.length - 1), max: random() < 0.5 ? 1 : 3 });
    }
    placed += count;
  }
  return problemOf(ec2Catalogue(), items, { caps });
}
