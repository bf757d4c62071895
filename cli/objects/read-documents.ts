import { readFileSync } from 'node:fs';
import { isCollection, LineCounter, parseDocument as parseOne, visit } from 'yaml';
import type { Document, Scalar, Tags } from 'yaml';
import { briefMessageOf } from '../../core/error-message.js';
import { deepestLevel, dropNulls } from '../../core/nulls.js';
import { lookUp } from '../../core/own.js';
import { UsageError } from '../exit.js';

/** One document of a file. */
export interface FoundDocument {
  /** As messages name it. */
  readonly file: string;
  /** `document 2`, or empty in a file that is one document. */
  readonly place: string;
  /** As it stands in the file, with its last line break. */
  readonly text: string;
  /** Without nulls: in Kubernetes a field that is null is absent. Null for a document of comments alone. */
  readonly value: unknown;
  /** The YAML; absent where the file is JSON. */
  readonly yaml?: Document.Parsed;
  /** The file ends in a block text without a line break, which is read without one. */
  readonly opensLastLine?: true;
}

/** One object of a file, not yet checked, with where it stands for messages. */
export interface FoundObject {
  readonly file: string;
  /** `items[3]`, `document 2`, or empty for a file that is one object. */
  readonly place: string;
  readonly value: unknown;
}

/**
 * The objects of a file: a `kubectl get -o json` List, a PodList and the like, one object, JSON values, or YAML documents of
 * these. `-` is the standard input. Throws `UsageError` naming the file when it cannot be read or parsed.
 */
export function readObjects(file: string): FoundObject[] {
  const documents = readDocuments(file).filter(({ value }) => value !== null);
  // What a command that failed has left: an empty cluster is an empty List.
  if (documents.length === 0) throw new UsageError(`${file}: it is empty, expected Kubernetes objects`);
  return documents.flatMap(unpack);
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'it is a folder, expected a file',
  EACCES: 'it may not be read',
};

/** The text of a file, or of the standard input for `-`. Throws `UsageError` naming the file. */
export function readText(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    // What `>` of PowerShell writes.
    const text = bytes.toString(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf16le' : 'utf8');
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new UsageError(`${file}: ${lookUp(unreadable, code) ?? message}`);
  }
}

/** Parses JSON; throws `UsageError` naming the file and where it breaks. */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: not valid JSON: ${briefMessageOf(error)}`);
  }
}

/** The one document of YAML or JSON in a text; throws `UsageError` naming the file and where it breaks. */
export function parseDocument(text: string, file: string): unknown {
  return documentsOf(text, file)[0]?.value;
}

/** The documents of a file, as kubectl finds them. Throws `UsageError` naming the file, the document and the line for what is no YAML. */
export function readDocuments(file: string): FoundDocument[] {
  return documentsOf(readText(file), file === '-' ? '(standard input)' : file);
}

const separator = /^---(?=\s|$)/m;
const looksLikeJson = /^\s*(\{\s*["}]|\[\s*[[{"\]])/;
// Inside of JSON nothing but a comma can stand there, and no text has a line break.
const betweenJsons = /(?<=\})[ \t\r]*\n\s*(?=\{)/;

function documentsOf(text: string, file: string): FoundDocument[] {
  if (looksLikeJson.test(text)) {
    const values = text.split(betweenJsons);
    return values.map((each, i) => {
      const place = values.length > 1 ? `document ${i + 1}` : '';
      return { file, place, text: each, value: cleaned(parseJson(each, placeOf({ file, place })), file) };
    });
  }
  let line = 0;
  const chunks = text.split(separator).flatMap((chunk) => {
    const at = line;
    line += chunk.split('\n').length - 1;
    return chunk.trim() === '' || /^(%.*\s*)+$/.test(chunk.trimStart()) ? [] : [{ chunk, at }];
  });
  return chunks.map(({ chunk, at }, i) => readChunk(chunk, at, file, chunks.length > 1 ? `document ${i + 1}` : ''));
}

/** YAML 1.1, as Kubernetes reads it: without base 60 and dates, and with bytes as a text. */
const options = {
  version: '1.1',
  prettyErrors: false,
  logLevel: 'error',
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
      Pair: (_, { key }) => {
        if (isCollection(key)) refuse(key.range?.[0] ?? 0, 'a key is no text');
      },
      Scalar: (_, node) => {
        const isBlock = node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED';
        if (isBlock && (node.range?.[1] ?? 0) >= chunk.length) open = node as Scalar.Parsed;
      },
    });
  });
  // The parser adds the line break that the file ends without.
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
  return { file, place, text, value, yaml };
}

/** Whether a text is to be filled in by something else first, in a sentence. */
export function templateHint(text: string): string | undefined {
  if (text.includes('{{')) return 'looks like a Helm template: use what `helm template` prints';
  if (text.includes('${')) return 'looks like a template of Terraform or envsubst: use what they write';
  return undefined;
}

/** Of a line so many characters are shown before the problem and after it. */
const shownBefore = 40;
const shownAfter = 40;

function shown(text: string, line: number, column: number): string {
  const whole = text.split('\n')[line - 1] ?? '';
  const from = Math.max(0, column - 1 - shownBefore);
  return `${whole.slice(from, column - 1 + shownAfter)}\n${' '.repeat(column - 1 - from)}^`;
}

/** Of YAML that is nested too deep, or whose aliases would fill the memory, the parser throws. Throws `UsageError` for that. */
function refusingBadYaml<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${where}: not valid YAML: ${briefMessageOf(error)}`);
  }
}

/** The value itself, less the fields that are null. Throws `UsageError` where it is nested too deep to be an object of Kubernetes. */
function cleaned(value: unknown, where: string): unknown {
  if (!dropNulls(value)) throw new UsageError(`${where}: it is nested more than ${deepestLevel} levels deep`);
  return value;
}

function unpack({ file, place, value }: FoundObject): FoundObject[] {
  if (Array.isArray(value))
    return value.map((each: unknown, i) => ({ file, place: within(place, `[${i}]`), value: each }));
  if (!isRecord(value))
    throw new UsageError(
      `${placeOf({ file, place })}: expected a Kubernetes object or List, found ${describeDocument(value)}`,
    );
  return unpackList({ file, place, value }) ?? [{ file, place, value }];
}

const within = (place: string, inner: string): string => (place === '' ? inner : `${place} ${inner}`);

/** The items of a List, PodList and the like; undefined for what is none. */
export function unpackList({ file, place, value }: FoundObject): FoundObject[] | undefined {
  const kind = isRecord(value) ? value['kind'] : undefined;
  if (!isRecord(value) || typeof kind !== 'string' || !kind.endsWith('List')) return undefined;
  const items = value['items'];
  // Some kinds are only called so (AllowList).
  if (items === undefined && kind !== 'List') return undefined;
  if (!Array.isArray(items))
    throw new UsageError(
      `${placeOf({ file, place })}: ${kind}: items: expected an array, found ${describeDocument(items)}`,
    );
  // A PodList leaves out what each item's kind is; a List states it.
  const own = kind === 'List' ? {} : { apiVersion: value['apiVersion'], kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item: unknown, i) => {
    const found = { file, place: within(place, `items[${i}]`), value: isRecord(item) ? { ...own, ...item } : item };
    return unpackList(found) ?? [found];
  });
}

/** File and place, for the beginning or end of a sentence. */
export function placeOf({ file, place }: Pick<FoundObject, 'file' | 'place'>): string {
  return place === '' ? file : `${file}: ${place}`;
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** A value as a text; objects may have any field, `toString` too. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : describeDocument(value);
}

/** A value as an error message shows it. */
export function describeDocument(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
