import fc from 'fast-check';

/** Pieces of text on which readers stumble. */
const pieces = [
  '', ' ', '\n', '\t', '\u0000', '\uFEFF', '\uD800', '💥', '"', "'", '\\', '{', '}', '[', ']', '(', ')', '<', '>', ',', ':', ';', '=', '/',
  '*', '-', '+', '.', '%', '#', '&', '|', '!', '?', '@', '$', '~', '0', '1', '-1', '1e999', '9'.repeat(400), '0x10', 'NaN', 'Infinity',
  'null', 'true', '__proto__', 'constructor', 'toString', 'hasOwnProperty', '('.repeat(20_000), '['.repeat(20_000), '{"a":'.repeat(5000),
  'a'.repeat(70_000), ' '.repeat(20_000), '!'.repeat(20_000), '1+'.repeat(20_000), '&a [*a]', 'Content-Type: multipart/mixed; boundary=""', '--',
] as const; // prettier-ignore

const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat(12),
  added: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...pieces) }, fc.string({ maxLength: 8, unit: 'binary' })),
});

/** One of `texts` with a few edits, or any text. */
export function editedText(...texts: readonly string[]): fc.Arbitrary<string> {
  const edited = fc
    .tuple(fc.constantFrom(...texts), fc.array(edit, { maxLength: 4 }))
    .map(([text, edits]) => edits.reduce(applied, text));
  return fc.oneof({ weight: 9, arbitrary: edited }, fc.string({ unit: 'binary', maxLength: 40 }));
}

function applied(text: string, { at, removed, added }: { at: number; removed: number; added: string }): string {
  const from = Math.floor(at * (text.length + 1));
  return text.slice(0, from) + added + text.slice(from + removed);
}

/** Values that a field does not expect. */
const values: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1.5,
  () => 1e308,
  () => Number.NaN,
  () => '',
  () => 'a'.repeat(70_000),
  () => '9'.repeat(400),
  () => '__proto__',
  () => 'not a value',
  () => '\u0000',
  () => [],
  () => [null],
  () => [[]],
  () => Array.from({ length: 3000 }, (_, i) => `v${i}`),
  () => ({}),
  () => ({ constructor: 'a', toString: 1, hasOwnProperty: null }),
  () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown,
  () => nested(2000),
];

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
}

const keys = ['__proto__', 'constructor', 'toString', '', 'a', 'name', '\u0000', 'x'.repeat(400)];

const change = fc.record({
  path: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
  how: fc.constantFrom('replace', 'remove', 'rename', 'repeat'),
  value: fc.constantFrom(...values),
  key: fc.constantFrom(...keys),
});

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** One of `documents` with a few fields replaced, removed, renamed or repeated, as a value that came from JSON. */
export function changedValue(...documents: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.constantFrom(...documents), fc.array(change, { maxLength: 4 }))
    .map(([document, changes]) => asJson(changes.reduce(changedAt, structuredClone(document))));
}

const asJson = (value: unknown): unknown => (JSON.parse(JSON.stringify([value])) as unknown[])[0];

function changedAt(document: unknown, { path, ...rest }: Change): unknown {
  let parent: Record<string, unknown> | undefined;
  let field = '';
  let value = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) break;
    parent = value as Record<string, unknown>;
    const names = Object.keys(parent);
    field = names[step % names.length]!;
    value = parent[field];
  }
  if (parent === undefined) return rest.value();
  alter(parent, field, rest);
  return document;
}

function alter(parent: Record<string, unknown>, field: string, { how, value, key }: Omit<Change, 'path'>): void {
  if (how === 'replace') define(parent, field, value());
  else if (how === 'remove') Reflect.deleteProperty(parent, field);
  else if (how === 'rename' && !Array.isArray(parent)) define(parent, key, parent[field]);
  else if (Array.isArray(parent)) parent.push(...Array.from({ length: 200 }, () => parent[Number(field)] as unknown));
  else define(parent, `${field}${key}`, parent[field]);
}

/** As JSON.parse does it: `__proto__` is a field like any other. */
function define(parent: object, field: string, value: unknown): void {
  Object.defineProperty(parent, field, { value, enumerable: true, configurable: true, writable: true });
}

/** Values of other types than a field has. */
const others: readonly unknown[] = [null, true, -1, 1.5, '', '__proto__', [], [null, 1, 'a'], {}, { a: {} }];

/** Each of `objects` with each field that no earlier one has, replaced by each value of another type. */
export function* replacements(
  objects: readonly unknown[],
): Generator<{ readonly path: string; readonly object: unknown }> {
  const seen = new Set<string>();
  for (const object of objects) {
    for (const path of pathsIn(object)) {
      const shape = path.filter((step) => !/^\d+$/.test(step)).join('.');
      if (path.length === 0 || seen.has(shape)) continue;
      seen.add(shape);
      for (const value of others) yield { path: path.join('.'), object: replaced(object, path, value) };
    }
  }
}

function* pathsIn(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* pathsIn(inner, [...path, name]);
}

function replaced(object: unknown, path: readonly string[], value: unknown): unknown {
  const copy: unknown = structuredClone(object);
  let parent = copy as Record<string, unknown>;
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string, unknown>;
  define(parent, path.at(-1)!, value);
  return copy;
}
