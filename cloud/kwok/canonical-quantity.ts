const decimal = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
const nano = 1_000_000_000n;
const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

/**
 * A quantity in the canonical form of the Kubernetes API server: an integer with the largest suffix that loses no
 * precision, in the given family of suffixes (`1000m` → `1`, `16384Mi` → `16Gi`, `4000` → `4k`). Label values with
 * amounts use this form. Undefined if `quantity` is not a quantity.
 */
export function canonicalQuantity(quantity: string | number): string | undefined {
  const match = form.exec(typeof quantity === 'number' ? numberText(quantity) : quantity.trim());
  if (match === null || `${match[2] ?? ''}${match[3] ?? ''}` === '') return undefined;
  const exponentForm = match[4] !== undefined;
  const suffix = match[5] ?? '';
  const amount = nanos(match, suffix);
  const sign = match[1] === '-' && amount !== 0n ? '-' : '';
  if (amount === 0n) return '0';
  if (suffix.endsWith('i') && amount >= 1024n * nano && amount % nano === 0n) {
    return `${sign}${reduce(amount / nano, 1024n, binary)}`;
  }
  return `${sign}${exponentForm ? exponent(amount) : reduce(amount, 1000n, decimal)}`;
}

function numberText(value: number): string {
  return Number.isSafeInteger(value) ? value.toFixed(0) : String(value);
}

/** The unsigned amount in units of 1e-9, rounded up as the API server does. */
function nanos(match: RegExpExecArray, suffix: string): bigint {
  const fraction = match[3] ?? '';
  const digits = BigInt(`${match[2] ?? ''}${fraction}`);
  const power = 9 - fraction.length + (match[4] === undefined ? decimalPower(suffix) : Number(match[4]));
  const shift = BigInt(10 * Math.max(0, (binary as readonly string[]).indexOf(suffix)));
  const scaled = digits << shift;
  if (power >= 0) return scaled * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (scaled + divisor - 1n) / divisor;
}

function decimalPower(suffix: string): number {
  const index = (decimal as readonly string[]).indexOf(suffix);
  return index < 0 ? 0 : 3 * index - 9;
}

function reduce(amount: bigint, base: bigint, suffixes: readonly string[]): string {
  let index = 0;
  while (amount % base === 0n && index < suffixes.length - 1) {
    amount /= base;
    index += 1;
  }
  return `${String(amount)}${suffixes[index] ?? ''}`;
}

function exponent(amount: bigint): string {
  let power = -9;
  while (amount % 1000n === 0n) {
    amount /= 1000n;
    power += 3;
  }
  return power === 0 ? String(amount) : `${String(amount)}e${String(power)}`;
}
