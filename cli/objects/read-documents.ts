import { readFileSync } from 'node:fs';
import { LineCounter, parseAllDocuments } from 'yaml';
import { briefMessageOf } from '../../core/error-message.js';
import { lookUp } from '../../core/own.js';
import { UsageError } from '../exit.js';
import { expectShallow } from './depth.js';
import { firstProblem, problemText } from './yaml-problem.js';

/** One object of a file, not yet checked, with where it stands for messages. */
export interface FoundObject {
  readonly file: string;
  /** `items[3]`, `document 2`, or empty for a file that is one object. */
  readonly place: string;
  readonly value: unknown;
}

/**
 * The objects of a file: a `kubectl get -o json` List, a PodList and the like, one object, or YAML documents of these.
 * `-` is the standard input. Throws `UsageError` naming the file when it cannot be read or parsed.
 */
export function readObjects(file: string): FoundObject[] {
  const text = readText(file);
  // What a command that failed has left: an empty cluster is an empty List.
  if (text.trim() === '') throw new UsageError(`${file}: it is empty, expected Kubernetes objects`);
  const documents =
    text.trimStart().startsWith('{') || text.trimStart().startsWith('[')
      ? [parseJson(text, file)]
      : parseYaml(text, file);
  for (const document of documents) expectShallow(document, file);
  return documents.flatMap((document, i) => unpack(document, file, documents.length > 1 ? `document ${i + 1}` : ''));
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'it is a folder, expected a file',
  EACCES: 'it may not be read',
};

/** The text of a file, or of the standard input for `-`. Throws `UsageError` naming the file. */
export function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
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
  return parseYaml(text, file)[0];
}

function parseYaml(text: string, file: string): unknown[] {
  const lineCounter = new LineCounter();
  const documents = refusingBadYaml(file, () => parseAllDocuments(text, { prettyErrors: false, lineCounter }));
  if (!Array.isArray(documents)) return [];
  for (const { errors } of documents) {
    const problem = firstProblem(errors, lineCounter);
    if (problem !== undefined) throw new UsageError(`${file}: not valid YAML: ${problemText(problem, text)}`);
  }
  const values = documents.map((document) => refusingBadYaml(file, () => document.toJS() as unknown));
  return values.filter((value) => value !== null);
}

/** Of YAML that is nested too deep, or whose aliases would fill the memory, the parser throws. Throws `UsageError` for that. */
export function refusingBadYaml<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`${file}: not valid YAML: ${briefMessageOf(error)}`);
  }
}

function unpack(document: unknown, file: string, place: string): FoundObject[] {
  if (Array.isArray(document)) return document.map((value, i) => ({ file, place: `[${i}]`, value: value as unknown }));
  if (!isRecord(document))
    throw new UsageError(
      `${file}${place === '' ? '' : ` ${place}`}: expected a Kubernetes object or List, found ${describeDocument(document)}`,
    );
  const kind = document['kind'];
  if (typeof kind === 'string' && kind.endsWith('List')) return unpackList(document, kind, file, place);
  return [{ file, place, value: document }];
}

function unpackList(list: Record<string, unknown>, kind: string, file: string, place: string): FoundObject[] {
  const items = list['items'];
  if (!Array.isArray(items))
    throw new UsageError(`${file}: ${kind}: items: expected an array, found ${describeDocument(items)}`);
  const itemKind = kind === 'List' ? undefined : kind.slice(0, -'List'.length);
  const prefix = place === '' ? '' : `${place} `;
  return items.map((item: unknown, i) => ({
    file,
    place: `${prefix}items[${i}]`,
    // A PodList leaves out what each item's kind is; a List states it.
    value:
      itemKind !== undefined && isRecord(item) ? { apiVersion: list['apiVersion'], kind: itemKind, ...item } : item,
  }));
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
