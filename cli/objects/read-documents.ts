import { readFileSync } from 'node:fs';
import { isCollection, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument as parseOne, visit } from 'yaml';
import type { Document, Scalar, Tags } from 'yaml';
import { briefMessageOf } from '../../core/error-message.js';
import { deepestLevel, dropNulls } from '../../core/nulls.js';
import { lookUp } from '../../core/own.js';
import type { FieldPath } from '../../api/schema/issues.js';
import { UsageError } from '../exit.js';

/** One document of a file. */
export interface FoundDocument {
  /** The name in messages. */
  readonly file: string;
  /** `document 2`; empty in a file with one document. */
  readonly place: string;
  /** The text in the file, including the last line break. */
  readonly text: string;
  /** Without nulls: in Kubernetes a null field is absent. Null for a document with only comments. */
  readonly value: unknown;
  /** The parsed YAML; absent for JSON. */
  readonly yaml?: Document.Parsed;
  readonly source: Source;
  /** The file ends in a block scalar without a line break. */
  readonly opensLastLine?: true;
}

/** Where the text of a document begins. */
interface Source {
  readonly text: string;
  /** Number of lines of the file before it. */
  readonly line: number;
}

/** One object of a file, not validated yet, with its position for messages. */
export interface FoundObject {
  readonly file: string;
  /** `items[3]`, `document 2`, or empty for a file with one object. */
  readonly place: string;
  readonly value: unknown;
  readonly source?: Source;
  /** Its path in the document, as an item of lists. */
  readonly path?: FieldPath;
}

/**
 * The line of the file that has this field of the object (`spec.taints[1].key`, map keys in brackets); of what encloses
 * it where it is missing; undefined if the file has no lines to name.
 */
export function lineOf({ source, path = [] }: FoundObject, field = ''): number | undefined {
  if (source === undefined) return undefined;
  const lineCounter = new LineCounter();
  const parsed = parseOne(source.text, { ...options, lineCounter });
  let node: unknown = parsed.contents;
  let offset = isCollection(node) ? node.range?.[0] : undefined;
  for (const part of [...path, ...partsOf(field)]) {
    const [inner, at] = innerOf(node, part);
    if (at === undefined) break;
    offset = at;
    node = inner;
  }
  return offset === undefined ? undefined : source.line + lineCounter.linePos(offset).line;
}

const partsOf = (field: string): string[] =>
  [...field.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(([, bracketed, plain]) => bracketed ?? plain ?? '');

/** What a collection has under a key or index, and the offset of that; nothing if it lacks it. */
function innerOf(node: unknown, part: string | number): readonly [unknown, number | undefined] {
  if (isSeq(node)) {
    const item = node.items[Number(part)];
    return [item, isNode(item) ? item.range?.[0] : undefined];
  }
  if (!isMap(node)) return [undefined, undefined];
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
  return [pair?.value, isNode(pair?.key) ? pair.key.range?.[0] : undefined];
}

/**
 * The objects of a file: a List as from `kubectl get -o json`, a PodList or similar, one object, JSON values, or YAML
 * documents of these. `-` is stdin. Throws `UsageError` naming the file if it cannot be read or parsed.
 */
export function readObjects(file: string): FoundObject[] {
  const documents = readDocuments(file).filter(({ value }) => value !== null);
  // An empty file is probably left by a failed command: an empty cluster is an empty List.
  if (documents.length === 0) throw new UsageError(`${file}: it is empty, expected Kubernetes objects`);
  return documents.flatMap(unpack);
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'it is a folder, expected a file',
  EACCES: 'it may not be read',
};

/** The text of a file, or of stdin for `-`. Throws `UsageError` naming the file. */
export function readText(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    // PowerShell's `>` writes UTF-16.
    const text = bytes.toString(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf16le' : 'utf8');
    if (text.includes('\u0000')) throw new UsageError(`${file}: it is not text, expected YAML or JSON`);
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new UsageError(`${file}: ${lookUp(unreadable, code) ?? message}`);
  }
}

/** Parses JSON; throws `UsageError` with file and position. */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: not valid JSON: ${briefMessageOf(error)}`);
  }
}

/** The single YAML or JSON document in a text; throws `UsageError` with file and position. */
export function parseDocument(text: string, file: string): unknown {
  return documentsOf(text, file)[0]?.value;
}

/**
 * The documents of a file, separated as in kubectl. Throws `UsageError` with file, document and line for invalid YAML.
 */
export function readDocuments(file: string): FoundDocument[] {
  return documentsOf(readText(file), file === '-' ? '(standard input)' : file);
}

const separator = /^---(?=\s|$)/m;
const looksLikeJson = /^\s*(\{\s*["}]|\[\s*[[{"\]])/;
// Inside JSON only a comma could be here, and strings contain no line breaks.
const betweenJsons = /(?<=\})[ \t\r]*\n\s*(?=\{)/;

const breaksIn = (text: string): number => text.split('\n').length - 1;

function documentsOf(text: string, file: string): FoundDocument[] {
  if (looksLikeJson.test(text)) {
    const values = text.split(betweenJsons);
    let [end, line] = [0, 0];
    return values.map((each, i) => {
      const place = values.length > 1 ? `document ${i + 1}` : '';
      const from = text.indexOf(each, end);
      line += breaksIn(text.slice(end, from));
      const source = { text: each, line };
      line += breaksIn(each);
      end = from + each.length;
      const value = cleaned(parseJson(each, placeOf({ file, place })), file);
      return { file, place, text: each, value, source };
    });
  }
  let line = 0;
  const chunks = text.split(separator).flatMap((chunk) => {
    const at = line;
    line += breaksIn(chunk);
    return chunk.trim() === '' || /^(%.*\s*)+$/.test(chunk.trimStart()) ? [] : [{ chunk, at }];
  });
  return chunks.map(({ chunk, at }, i) => readChunk(chunk, at, file, chunks.length > 1 ? `document ${i + 1}` : ''));
}

/** YAML 1.1, as Kubernetes reads it: without base 60 and dates, and with binary as strings. */
const options = {
  version: '1.1',
  prettyErrors: false,
  logLevel: 'error',
  // The parser compares each key with all others; readChunk has a set.
  uniqueKeys: false,
  customTags: (tags: Tags): Tags => [
    ...tags.filter(
      (tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !/:(timestamp|binary)$/.test(tag.tag)),
    ),
    {
      tag: 'tag:yaml.org,2002:binary',
      resolve: (value: string) => Buffer.from(value, 'base64').toString(),
    },
  ],
} as const;

function readChunk(chunk: string, line: number, file: string, place: string): FoundDocument {
  const where = placeOf({ file, place });
  const lineCounter = new LineCounter();
  const refuse = (offset: number, why: string): never => {
    const { line: own, col } = lineCounter.linePos(offset);
    const what = templateHint(chunk) ?? `not valid YAML: ${why}`;
    throw new UsageError(`${where}: line ${line + own}, column ${col}: ${what}:\n\n${shown(chunk, own, col)}`);
  };
  const yaml = refusingBadYaml(where, () => parseOne(chunk, { ...options, lineCounter }));
  const [error] = yaml.errors;
  if (error?.code === 'MULTIPLE_DOCS') {
    const ended = chunk
      .slice(0, error.pos[0])
      .split('\n')
      .findIndex((each) => /^\.\.\.(\s|$)/.test(each));
    throw new UsageError(`${where}: line ${line + ended + 1}: text after the end of a document (...)`);
  }
  if (error !== undefined) refuse(error.pos[0], briefMessageOf(error));
  let open: Scalar.Parsed | undefined;
  refusingBadYaml(where, () => {
    visit(yaml, {
      Map: (_, { items }) => {
        const seen = new Set<unknown>();
        for (const { key } of items) {
          if (!isScalar(key) || key.value === '<<') continue;
          if (seen.has(key.value)) refuse(key.range?.[0] ?? 0, 'Map keys must be unique');
          seen.add(key.value);
        }
      },
      Pair: (_, { key }) => {
        if (isCollection(key)) refuse(key.range?.[0] ?? 0, 'a key is no text');
      },
      Scalar: (_, node) => {
        const isBlock = node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED';
        if (isBlock && (node.range?.[1] ?? 0) >= chunk.length) open = node as Scalar.Parsed;
      },
    });
  });
  // The parser adds a missing final line break.
  if (open !== undefined && String(open.value).endsWith('\n') && /\S[^\n]*$/.test(chunk)) {
    const [start] = open.range;
    const closed = chunk.slice(start).replace(/^([|>])([0-9]?)\+?([0-9]?)/, '$1$2$3-');
    return { ...readChunk(`${chunk.slice(0, start)}${closed}\n`, line, file, place), opensLastLine: true };
  }
  const value = cleaned(
    refusingBadYaml(where, () => yaml.toJS() as unknown),
    where,
  );
  const text = chunk.replace(/^[ \t\r]*\n/, '').replace(/[^\n]$/, '$&\n');
  return { file, place, text, value, yaml, source: { text: chunk, line } };
}

/** A sentence if the text seems to be an unrendered template. */
export function templateHint(text: string): string | undefined {
  if (text.includes('{{')) return 'looks like a Helm template: use what `helm template` prints';
  if (text.includes('${')) return 'looks like a template of Terraform or envsubst: use what they write';
  return undefined;
}

/** Number of characters of a line shown before and after the error. */
const shownBefore = 40;
const shownAfter = 40;

function shown(text: string, line: number, column: number): string {
  const whole = text.split('\n')[line - 1] ?? '';
  const from = Math.max(0, column - 1 - shownBefore);
  return `${whole.slice(from, column - 1 + shownAfter)}\n${' '.repeat(column - 1 - from)}^`;
}

/**
 * The parser throws for YAML that is nested too deep, or whose aliases would exhaust memory. Throws `UsageError` for
 * these.
 */
function refusingBadYaml<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${where}: not valid YAML: ${briefMessageOf(error)}`);
  }
}

/** The value without null fields. Throws `UsageError` if it is nested deeper than a Kubernetes object. */
function cleaned(value: unknown, where: string): unknown {
  if (!dropNulls(value)) throw new UsageError(`${where}: it is nested more than ${deepestLevel} levels deep`);
  return value;
}

function unpack({ file, place, value, source }: FoundDocument): FoundObject[] {
  if (Array.isArray(value))
    return value.map((each: unknown, i) => ({
      ...{ file, place: within(place, `[${i}]`), value: each, source, path: [i] },
    }));
  if (!isRecord(value))
    throw new UsageError(
      `${placeOf({ file, place })}: expected a Kubernetes object or List, found ${describeDocument(value)}`,
    );
  return unpackList({ file, place, value, source }) ?? [{ file, place, value, source }];
}

const within = (place: string, inner: string): string => (place === '' ? inner : `${place} ${inner}`);

/** The items of a List, PodList or similar; undefined for other objects. */
export function unpackList({ file, place, value, path = [], ...more }: FoundObject): FoundObject[] | undefined {
  const kind = isRecord(value) ? value['kind'] : undefined;
  if (!isRecord(value) || typeof kind !== 'string' || !kind.endsWith('List')) return undefined;
  const items = value['items'];
  // Some kinds only have such a name (AllowList).
  if (items === undefined && kind !== 'List') return undefined;
  if (!Array.isArray(items))
    throw new UsageError(
      `${placeOf({ file, place })}: ${kind}: items: expected an array, found ${describeDocument(items)}`,
    );
  // Items of a PodList have no kind; those of a List have one.
  const own = kind === 'List' ? {} : { apiVersion: value['apiVersion'], kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item: unknown, i) => {
    const inner: unknown = isRecord(item) ? { ...own, ...item } : item;
    const found = { ...more, file, place: within(place, `items[${i}]`), value: inner, path: [...path, 'items', i] };
    return unpackList(found) ?? [found];
  });
}

/** File and position, for the start or end of a sentence. */
export function placeOf({ file, place }: Pick<FoundObject, 'file' | 'place'>): string {
  return place === '' ? file : `${file}: ${place}`;
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** A value as a string; objects may have any field, including `toString`. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : describeDocument(value);
}

/** A value for an error message. */
export function describeDocument(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
