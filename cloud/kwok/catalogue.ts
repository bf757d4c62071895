import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { formatResource, parseResource, type Resources } from '../../core/quantities.js';
import { cutText, longestMessage } from '../../core/text.js';
import { messageOf } from '../../core/error-message.js';

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

/** Label keys of the KWOK provider's instance types in addition to the core ones. */
export const kwokWellKnownLabels: readonly string[] = [
  'karpenter.kwok.sh/instance-cpu',
  'karpenter.kwok.sh/instance-memory',
  'karpenter.kwok.sh/instance-family',
  'karpenter.kwok.sh/instance-size',
];
const [cpuLabel, memoryLabel, familyLabel, sizeLabel] = kwokWellKnownLabels as readonly [
  string,
  string,
  string,
  string,
];

/** A catalogue file that cannot be read, with the position of the error. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
  constructor(
    /** Such as `[3] "m5.large"`; empty if the error concerns the whole file. */
    readonly entry: string,
    /** Such as `offerings[1].Price`; empty if the error concerns the whole entry. */
    readonly field: string,
    readonly problem: string,
  ) {
    const place = [entry, field].filter((part) => part !== '').join(' ');
    super(cutText(place === '' ? problem : `${place}: ${problem}`, longestMessage));
  }
}

interface CatalogueOptions {
  /** Overhead of every node; default none. Karpenter's KWOK provider reserves 100m CPU and 10Mi memory. */
  readonly overhead?: Resources;
}

/**
 * Reads a catalogue in the JSON format of Karpenter's KWOK provider: an array of `{name, architecture,
 * operatingSystems[], resources{}, offerings:[{Price, MachinePrice?, Available?, Requirements[]}], labels?{},
 * overhead?{}}`. Additions to Karpenter's format: `labels` are further labels of a type's nodes, each with one or
 * several values; `overhead` is reserved from pods; `MachinePrice` is the part of the price for the machine. Keys are
 * case-insensitive, as in Go; unknown keys are ignored; `resources` and `offerings` are required; `Available` defaults
 * to true and `resources.pods` to 110. Throws `CatalogueError` naming the entry and the field.
 */
export function parseCatalogue(json: string, options: CatalogueOptions = {}): InstanceType[] {
  let file: unknown;
  try {
    file = JSON.parse(json);
  } catch (error) {
    throw new CatalogueError('', '', `no JSON: ${messageOf(error)}`);
  }
  if (!Array.isArray(file)) throw new CatalogueError('', '', `expected an array of instance types, ${found(file)}`);
  const seen = new Map<string, number>();
  return file.map((entry: unknown, index) => {
    const type = parseType(entry, index, options);
    const earlier = seen.get(type.name);
    if (earlier !== undefined) {
      throw new CatalogueError(`[${index}] "${type.name}"`, 'name', `entry [${earlier}] has the same name`);
    }
    seen.set(type.name, index);
    return type;
  });
}

/** The label keys of the offerings of these types, including the core ones, in order of appearance. */
export function offeringLabels(types: readonly InstanceType[]): string[] {
  return [...new Set(types.flatMap((type) => type.offerings.flatMap((offer) => offer.requirements.map((r) => r.key))))];
}

function parseType(value: unknown, index: number, options: CatalogueOptions): InstanceType {
  const fields = fieldsOf(value, new Place(`[${index}]`));
  const name = fields.get('name');
  if (typeof name !== 'string' || name === '') {
    throw new CatalogueError(`[${index}]`, 'name', `expected a non-empty string, ${found(name)}`);
  }
  const place = new Place(`[${index}] "${name}"`);
  const architecture = fields.get('architecture') ?? '';
  if (typeof architecture !== 'string') throw place.at('architecture').error('a string', architecture);
  const systems = strings(fields.get('operatingsystems'), place.at('operatingSystems'));
  const { capacity, texts } = parseCapacity(fields.get('resources'), place.at('resources'));
  if (fields.get('offerings') === undefined) throw place.at('offerings').error('an array', undefined);
  const offerings = list(fields.get('offerings'), place.at('offerings')).map((offering, i) =>
    parseOffering(offering, place.at('offerings').item(i)),
  );
  const cpu = texts.cpu ?? '0';
  return {
    name,
    requirements: [
      { key: labels.instanceType, operator: 'In', values: [name] },
      { key: labels.arch, operator: 'In', values: [architecture] },
      oneOf(labels.os, systems),
      oneOf(labels.zone, domain(offerings, labels.zone)),
      oneOf(labels.capacityType, domain(offerings, labels.capacityType)),
      { key: cpuLabel, operator: 'In', values: [cpu] },
      { key: memoryLabel, operator: 'In', values: [texts.memory ?? '0'] },
      { key: familyLabel, operator: 'In', values: [familyOf(name)] },
      { key: sizeLabel, operator: 'In', values: [sizeOf(name, cpu)] },
      ...furtherLabels(fields.get('labels'), place.at('labels')),
    ],
    offerings,
    capacity,
    overhead: parseOverhead(fields.get('overhead'), place.at('overhead')) ?? options.overhead ?? {},
  };
}

/** Writes the types in that format, without offerings that have no price. */
export function writeCatalogue(types: readonly InstanceType[]): string {
  const entries = types.flatMap((type) => {
    const offerings = type.offerings.filter(({ unpriced }) => unpriced !== true);
    return offerings.length === 0 ? [] : [JSON.stringify(entryOf({ ...type, offerings }))];
  });
  return `[\n${entries.join(',\n')}\n]\n`;
}

/** Labels that other fields of the format determine. */
const ownLabels: readonly string[] = [
  ...[labels.instanceType, labels.arch, labels.os, labels.zone, labels.capacityType],
  ...kwokWellKnownLabels,
];

function entryOf({ name, requirements, offerings, capacity, overhead }: InstanceType): object {
  const said = new Map(requirements.map(({ key, values = [] }) => [key, values]));
  const further = [...said].filter(([key, values]) => !ownLabels.includes(key) && values.length > 0);
  return {
    name,
    architecture: said.get(labels.arch)?.[0],
    operatingSystems: said.get(labels.os),
    resources: quantities(capacity),
    overhead: quantities(overhead),
    labels: Object.fromEntries(further.map(([key, values]) => [key, values.length === 1 ? values[0] : values])),
    offerings: offerings.map(({ price, machinePrice, available, reservationCapacity, requirements: where }) => ({
      Price: inMillionths(price),
      ...(machinePrice === undefined ? {} : { MachinePrice: inMillionths(machinePrice) }),
      Available: available,
      ...(reservationCapacity === undefined ? {} : { ReservationCapacity: reservationCapacity }),
      Requirements: where,
    })),
  };
}

const inMillionths = (price: number): number => Number(price.toFixed(6));

const quantities = (amounts: Resources): object =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatResource(name, amount)]));

function furtherLabels(value: unknown, place: Place): NodeSelectorRequirement[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw place.error('an object', value);
  return Object.entries(value).map(([key, label]: [string, unknown]) => {
    if (typeof label === 'string') return { key, operator: 'In', values: [label] };
    if (!Array.isArray(label) || label.length === 0) throw place.under(key).error('a string, or strings', label);
    return { key, operator: 'In', values: strings(label, place.under(key)) };
  });
}

function parseCapacity(value: unknown, place: Place): { capacity: Resources; texts: Record<string, string> } {
  const { amounts, texts } = parseQuantities(value, place);
  return { capacity: { pods: 110, ...amounts }, texts };
}

function parseOverhead(value: unknown, place: Place): Resources | undefined {
  return value === undefined ? undefined : parseQuantities(value, place).amounts;
}

function parseQuantities(value: unknown, place: Place): { amounts: Resources; texts: Record<string, string> } {
  const amounts: Record<string, number> = {};
  const texts: Record<string, string> = {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw place.error('an object of quantities', value);
  }
  for (const [name, quantity] of Object.entries(value)) {
    const expected = 'a quantity ≥ 0 such as 500m, 4 or 16Gi';
    const text = typeof quantity === 'string' || typeof quantity === 'number' ? canonicalQuantity(quantity) : undefined;
    if (text === undefined || text.startsWith('-')) throw place.under(name).error(expected, quantity);
    texts[name] = text;
    amounts[name] = parseResource(name, text);
  }
  return { amounts, texts };
}

function parseOffering(value: unknown, place: Place): Offering {
  const fields = fieldsOf(value, place);
  const price = fields.get('price');
  if (typeof price !== 'number' || price < 0) throw place.under('Price').error('a number ≥ 0', price);
  const available = fields.get('available') ?? true;
  if (typeof available !== 'boolean') throw place.under('Available').error('true or false', available);
  const requirements = list(fields.get('requirements'), place.under('Requirements')).map((requirement, i) =>
    parseRequirement(requirement, place.under('Requirements').item(i)),
  );
  const machinePrice = fields.get('machineprice');
  if (machinePrice !== undefined && (typeof machinePrice !== 'number' || machinePrice < 0)) {
    throw place.under('MachinePrice').error('a number ≥ 0', machinePrice);
  }
  const offering = { requirements, price, available, ...(machinePrice === undefined ? {} : { machinePrice }) };
  const reserved = fields.get('reservationcapacity');
  if (reserved === undefined) return offering;
  if (typeof reserved !== 'number' || !Number.isInteger(reserved) || reserved < 0) {
    throw place.under('ReservationCapacity').error('a whole number ≥ 0', reserved);
  }
  // Go writes 0 for offerings without a reservation.
  const isReserved = requirements.some(({ values }) => values?.includes('reserved') === true);
  return reserved > 0 || isReserved ? { ...offering, reservationCapacity: reserved } : offering;
}

const operators: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'];

function parseRequirement(value: unknown, place: Place): NodeSelectorRequirement {
  if (isPlain(value)) return { key: value.key, operator: 'In', values: value.values };
  const fields = fieldsOf(value, place);
  const key = fields.get('key');
  if (typeof key !== 'string' || key === '') throw place.under('key').error('a label key', key);
  const operator = fields.get('operator');
  if (typeof operator !== 'string' || !operators.includes(operator)) {
    throw place.under('operator').error(`one of ${operators.join(', ')}`, operator);
  }
  const requirement = { key, operator } as NodeSelectorRequirement;
  if (operator === 'Exists' || operator === 'DoesNotExist') return requirement;
  const values = strings(fields.get('values'), place.under('values'));
  if (values.length === 0) throw place.under('values').error(`at least one value for operator ${operator}`, []);
  return { ...requirement, values };
}

/** Whether the requirement has the most common form, which needs no further check. */
function isPlain(value: unknown): value is { key: string; values: string[] } {
  const { key, operator, values } = (value ?? {}) as Record<string, unknown>;
  if (typeof key !== 'string' || key === '' || operator !== 'In') return false;
  if (!Array.isArray(values) || values.length === 0 || Object.keys(value as object).length !== 3) return false;
  return values.every((each) => typeof each === 'string');
}

/** The part before the first dot or dash, otherwise the first letter (`m5.large` → `m5`, `c-4x-amd64-linux` → `c`). */
function familyOf(name: string): string {
  const end = name.search(/[.-]/);
  return end >= 0 ? name.slice(0, end) : name.slice(0, 1);
}

/** The size in a name such as `m5.2xlarge`, otherwise the CPU count. */
function sizeOf(name: string, cpu: string): string {
  return /^\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)$/.exec(name)?.[1] ?? cpu;
}

function domain(offerings: readonly Offering[], key: string): string[] {
  const values = offerings.flatMap((offering) =>
    offering.requirements.flatMap((requirement) => (requirement.key === key ? (requirement.values ?? []) : [])),
  );
  return [...new Set(values)];
}

/** Karpenter reads an empty `In` as `DoesNotExist`. */
function oneOf(key: string, values: string[]): NodeSelectorRequirement {
  return values.length === 0 ? { key, operator: 'DoesNotExist' } : { key, operator: 'In', values };
}

function strings(value: unknown, place: Place): string[] {
  return list(value, place).map((item, i) => {
    if (typeof item !== 'string') throw place.item(i).error('a string', item);
    return item;
  });
}

function list(value: unknown, place: Place): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw place.error('an array', value);
  return value as readonly unknown[];
}

/** Fields by lower-cased name; null counts as absent, as in Go. */
function fieldsOf(value: unknown, place: Place): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw place.error('an object', value);
  const fields = new Map<string, unknown>();
  for (const [name, inner] of Object.entries(value)) {
    fields.set(name.toLowerCase(), inner === null ? undefined : inner);
  }
  return fields;
}

/** A position in the file, for error messages. */
class Place {
  constructor(
    private readonly entry: string,
    private readonly field: string = '',
    private readonly inside?: Place,
    private readonly index?: number,
  ) {}
  at(field: string): Place {
    return new Place(this.entry, field);
  }
  under(name: string): Place {
    return new Place(this.entry, `.${name}`, this);
  }
  item(i: number): Place {
    return new Place(this.entry, '', this, i);
  }
  error(expected: string, value: unknown): CatalogueError {
    return new CatalogueError(this.entry, this.text(), `expected ${expected}, ${found(value)}`);
  }
  private text(): string {
    return `${this.inside?.text() ?? ''}${this.field}${this.index === undefined ? '' : `[${this.index}]`}`;
  }
}

function found(value: unknown): string {
  if (value === undefined) return 'found nothing';
  const text = JSON.stringify(value);
  return `found ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`;
}
