import { lookUp } from '../../../core/own.js';

/** What the chart's schema uses of JSON Schema for a value that a flag can give. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: { readonly pattern?: string; readonly enum?: readonly string[] };
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** What is wrong with `a.b=value`, as `--set` of Helm takes it; undefined for nothing. */
export function problemOfSet(root: Schema, setting: string): string | undefined {
  const [, path = '', text = ''] = /^([^=]*)=?([^]*)$/.exec(setting) ?? [];
  let schema: Schema = root;
  for (const name of path.split(/(?<!\\)\./)) {
    const below = belowOf(root, schema, name);
    if (typeof below === 'string') return `${path}: ${below}`;
    if (below === undefined) return undefined;
    schema = below;
  }
  return problemOfValue(schema, path, text);
}

/** Undefined where anything may stand; a text says why nothing may. */
function belowOf(root: Schema, schema: Schema, name: string): Schema | string | undefined {
  if (!isNameOf(schema, name)) return `the chart takes no ${name} there`;
  const found = lookUp(schema.properties ?? {}, name) ?? schema.additionalProperties;
  if (found === false) return 'the chart has no such value';
  if (found === undefined || found === true) return undefined;
  const [, reference] = /^#\/definitions\/(.+)$/.exec(found.$ref ?? '') ?? [];
  return reference === undefined ? found : lookUp(root.definitions ?? {}, reference);
}

function isNameOf({ propertyNames: { pattern, enum: names } = {} }: Schema, name: string): boolean {
  if (pattern !== undefined && !new RegExp(pattern).test(name)) return false;
  return names?.includes(name) !== false;
}

function problemOfValue(schema: Schema, path: string, text: string): string | undefined {
  if (text.includes('$')) return undefined;
  const value = valueOf(text);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOfType(type, value)))
    return `${path} is no ${types.join(' or ')}: ${text}`;
  if (schema.enum?.includes(value) === false) return `${path} is none of ${schema.enum.join(', ')}: ${text}`;
  if (typeof value === 'number') return isWithin(schema, value) ? undefined : `${path} is out of bounds: ${text}`;
  return isTextOf(schema, text) ? undefined : `${path} does not match: ${text}`;
}

const isWithin = ({ minimum = -Infinity, maximum = Infinity }: Schema, value: number): boolean =>
  value >= minimum && value <= maximum;

/** A name in capitals is the reader's to fill in. */
const isTextOf = ({ pattern, minLength = 0 }: Schema, text: string): boolean =>
  text.length >= minLength && (pattern === undefined || /^[A-Z]+(\/|$)/.test(text) || new RegExp(pattern).test(text));

/** As `--set` reads it. */
function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+$/.test(text) ? Number(text) : text;
}

function isOfType(type: string, value: string | number | boolean): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return type === typeof value;
}
