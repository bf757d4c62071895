import { FieldError } from '../objects/check.js';
import { isRecord } from '../objects/read-documents.js';
import { lookUp } from '../../core/own.js';

/** The effect of the conversion on one field of one object. */
export interface Note {
  /** File, and position of the object in it. */
  readonly where: string;
  /** Kind and name in the input. */
  readonly object: string;
  /** `changed`: equivalent. `check`: based on an assumption. `lost`: not carried over. */
  readonly effect: 'changed' | 'check' | 'lost';
  readonly field: string;
  readonly message: string;
}

/** Collects the notes about one object. */
export class Notes {
  readonly all: Note[] = [];
  /** By field: why the object cannot be converted. */
  readonly problems = new Map<string, string>();

  constructor(
    private readonly where: string,
    private readonly object: string,
  ) {}

  changed(field: string, message: string): void {
    this.add('changed', field, message);
  }

  check(field: string, message: string): void {
    this.add('check', field, message);
  }

  lost(field: string, message: string): void {
    this.add('lost', field, message);
  }

  /** Only the first problem of a field counts, since others may follow from it. */
  problem({ field, message }: Pick<FieldError, 'field' | 'message'>): undefined {
    if (!this.problems.has(field)) this.problems.set(field, message);
  }

  private add(effect: Note['effect'], field: string, message: string): void {
    this.all.push({ where: this.where, object: this.object, effect, field, message });
  }
}

/** The notes as text: by object, one line for each field. */
export function notesText(notes: readonly Note[]): string {
  const lines: string[] = [];
  let last = '';
  for (const { where, object, effect, field, message } of notes) {
    const title = `${where}: ${object}`;
    if (title !== last) lines.push(title);
    last = title;
    lines.push(`  ${effect.padEnd(8)} ${field === '' ? '' : `${field}: `}${message}`);
  }
  const count = (effect: Note['effect']): number => notes.filter((note) => note.effect === effect).length;
  lines.push(`${count('changed')} changed, ${count('check')} to check, ${count('lost')} not carried over`);
  return `${lines.join('\n')}\n`;
}

/**
 * Reads the fields of an old object one by one with their required type; a field of another type is reported as a
 * problem and omitted. `finish` reports the fields that were not read as lost.
 */
export class Fields {
  private readonly left: Set<string>;

  constructor(
    private readonly value: Record<string, unknown>,
    readonly path: string,
    readonly notes: Notes,
  ) {
    this.left = new Set(Object.keys(value).filter((name) => (lookUp(value, name) ?? undefined) !== undefined));
  }

  static of(value: unknown, path: string, notes: Notes): Fields {
    if (!isRecord(value)) notes.problem(new FieldError(path, 'an object', value));
    return new Fields(isRecord(value) ? value : {}, path, notes);
  }

  at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  has(name: string): boolean {
    return (lookUp(this.value, name) ?? undefined) !== undefined;
  }

  take(name: string): unknown {
    this.left.delete(name);
    return lookUp(this.value, name) ?? undefined;
  }

  object(name: string): Fields | undefined {
    const value = this.take(name);
    return value === undefined ? undefined : Fields.of(value, this.at(name), this.notes);
  }

  text(name: string): string | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'string') return value;
    this.notes.problem(new FieldError(this.at(name), 'a string', value));
  }

  flag(name: string): boolean | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'boolean') return value;
    this.notes.problem(new FieldError(this.at(name), 'true or false', value));
  }

  whole(name: string): number | undefined {
    const value = this.take(name);
    if (value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= 0)) return value;
    this.notes.problem(new FieldError(this.at(name), 'a whole number of at least 0', value));
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.take(name);
    if (value === undefined || Array.isArray(value)) return value;
    this.notes.problem(new FieldError(this.at(name), 'a list', value));
  }

  /** The items of a list that are objects, unread. */
  records(name: string): readonly Record<string, unknown>[] | undefined {
    return this.list(name)?.flatMap((item, i) => {
      if (isRecord(item)) return [item];
      this.notes.problem(new FieldError(`${this.at(name)}[${i}]`, 'an object', item));
      return [];
    });
  }

  /** Each item of a list as an object. */
  objects(name: string): readonly Fields[] | undefined {
    return this.list(name)?.map((item, i) => Fields.of(item, `${this.at(name)}[${i}]`, this.notes));
  }

  /** A map of strings; numbers and booleans, from unquoted YAML, are converted. */
  texts(name: string): Record<string, string> | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (!isRecord(value)) {
      this.notes.problem(new FieldError(this.at(name), 'a map', value));
      return;
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, asText(inner, `${this.at(name)}.${key}`, this.notes)]),
    );
  }

  /** Amounts by resource name. */
  amounts(name: string): Record<string, string | number> | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (!isRecord(value)) {
      this.notes.problem(new FieldError(this.at(name), 'a map of quantities', value));
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      const good = typeof inner === 'string' || (typeof inner === 'number' && Number.isFinite(inner));
      if (!good) this.notes.problem(new FieldError(`${this.at(name)}.${key}`, 'a quantity such as 100 or 64Gi', inner));
    }
    return value as Record<string, string | number>;
  }

  /** Another value as fields of this object. */
  amountsOwner(path: string, value: unknown): Fields {
    return Fields.of(value, path, this.notes);
  }

  /** Drops obsolete fields without a report. */
  skip(...names: readonly string[]): void {
    for (const name of names) this.left.delete(name);
  }

  finish(): void {
    for (const name of this.left) this.notes.lost(this.at(name), 'v1 has no such field');
    this.left.clear();
  }
}

/** A string, even if YAML parsed it as a number or boolean. */
export function asText(value: unknown, field: string, notes: Notes): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number' && typeof value !== 'boolean') {
    notes.problem(new FieldError(field, 'a string', value));
    return '';
  }
  notes.changed(field, `${value} is quoted: the API server takes strings alone`);
  return String(value);
}

/** Removes entries that are undefined or empty maps; an empty list may have a meaning. */
export function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => {
    if (value === undefined) return false;
    return !isRecord(value) || Object.keys(value).length > 0;
  });
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}

const serverSide = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'karpenter.sh/nodepool-hash',
  'karpenter.sh/nodepool-hash-version',
  'karpenter.sh/provisioner-hash',
  'karpenter.k8s.aws/ec2nodeclass-hash',
  'karpenter.k8s.aws/ec2nodeclass-hash-version',
  'karpenter.k8s.aws/nodetemplate-hash',
];

export interface OldMetadata {
  readonly name: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly ownerReferences?: readonly unknown[];
  readonly finalizers?: readonly unknown[];
}

const controllersFields =
  'uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds managedFields selfLink';

/** The part of an old object's metadata that users set. */
export function metadataOf(root: Fields): OldMetadata {
  const metadata = root.object('metadata');
  const name = metadata?.text('name');
  if (metadata === undefined || name === undefined || name === '') {
    throw new FieldError('metadata.name', 'a name', name);
  }
  const annotations = Object.entries(metadata.texts('annotations') ?? {}).filter(([key]) => !serverSide.includes(key));
  const finalizers = metadata.list('finalizers')?.filter((each) => !String(each).startsWith('karpenter.'));
  const own = present({
    labels: metadata.texts('labels'),
    annotations: Object.fromEntries(annotations),
    ownerReferences: metadata.list('ownerReferences'),
    finalizers: finalizers?.length === 0 ? undefined : finalizers,
  });
  metadata.skip(...controllersFields.split(' '));
  metadata.finish();
  return { name, ...own };
}
