import { quoted } from './text.js';
import { lookUp } from './own.js';

/** A Kubernetes quantity that cannot be parsed. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
  constructor(
    readonly quantity: string,
    readonly field: string,
  ) {
    super(
      `${field}: ${quoted(quantity)} is not a quantity (a number with an optional suffix such as m, k, M, Ki, Mi, Gi)`,
    );
  }
}

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const form = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

/** Kubernetes cuts larger amounts. Zero times 10 to a large exponent is not a number: it counts as 0. */
const largest = 2 ** 63;
const cut = (amount: number): number => Math.min(largest, Math.max(-largest, amount));

/**
 * The value of a Kubernetes quantity such as `1500m`, `2Gi` or `1e3`, in its base unit (cores, bytes). Throws
 * `QuantityError` naming `field` if it cannot be parsed.
 */
export function parseQuantity(quantity: string | number, field = 'quantity'): number {
  if (typeof quantity === 'number') {
    if (Number.isFinite(quantity)) return cut(quantity);
    throw new QuantityError(String(quantity), field);
  }
  const match = form.exec(quantity);
  if (match === null) throw new QuantityError(quantity, field);
  const scale = match[2] === undefined ? lookUp(suffixes, match[3] ?? '')! : 10 ** Number(match[2]);
  return cut(Number(match[1]) * scale || 0);
}

const binary = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki'] as const;

/** Writes an amount as Kubernetes does: `1500m`, `4`, `16Gi`. */
export function formatResource(name: string, amount: number): string {
  if (name === 'cpu') return amount % 1000 === 0 ? String(amount / 1000) : `${amount}m`;
  if (name !== 'memory' && !name.includes('storage') && !name.startsWith('hugepages-')) return String(amount);
  for (const suffix of binary) {
    const unit = suffixes[suffix]!;
    if (amount !== 0 && amount % unit === 0) return `${amount / unit}${suffix}`;
  }
  return String(amount);
}

/**
 * Amounts by resource name. `cpu` is in millicores; every other resource is in its base unit (bytes for memory and
 * storage, a count for pods and extended resources). All are integers.
 */
export type Resources = Readonly<Record<string, number>>;

/** Reads a Kubernetes ResourceList. Throws `QuantityError` naming the resource if a quantity cannot be parsed. */
export function parseResources(list: Readonly<Record<string, string | number>> | undefined): Resources {
  const resources: Record<string, number> = {};
  for (const [name, quantity] of Object.entries(list ?? {})) resources[name] = parseResource(name, quantity);
  return resources;
}

/** One quantity in the unit of `Resources`, rounded up. */
export function parseResource(name: string, quantity: string | number): number {
  return Math.ceil(parseQuantity(quantity, name) * (name === 'cpu' ? 1000 : 1) - 1e-9);
}
