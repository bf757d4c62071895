import { isMap, isNode, isPair, LineCounter, parseDocument, visit } from 'yaml';
import type { Document } from 'yaml';
import { UsageError } from '../exit.js';
import { describeDocument, isRecord, refusingBadYaml, readText } from '../objects/read-documents.js';
import { firstProblem } from '../objects/yaml-problem.js';

/** One object of the input. */
export interface InputObject {
  /** File, and the object's place in it. */
  readonly where: string;
  /** As it stands in the file; absent for an object out of a List. */
  readonly text?: string;
  readonly value: Record<string, unknown>;
  /** The comment above it. */
  readonly comment?: string;
  /** Lines of comments inside it. */
  readonly innerComments?: number;
}

/** A document that holds no object: comments alone. */
export interface InputText {
  readonly text: string;
}

const separator = /^---(?=\s|$)/m;

/**
 * The documents of a file, `-` for the standard input, with their own text. Lists are taken apart where `unpack` says
 * so of one of their items. Throws `UsageError` naming the file, the document and the line for what is no YAML.
 */
export function readDocuments(file: string, unpack: (item: unknown) => boolean): (InputObject | InputText)[] {
  const text = readText(file);
  const name = file === '-' ? '(standard input)' : file;
  const chunks = text.split(separator);
  let line = 0;
  return chunks.flatMap((chunk, i) => {
    const first = line;
    line += chunk.split('\n').length - 1;
    const where = chunks.filter((each) => each.trim() !== '').length > 1 ? `${name}, document ${i + 1}` : name;
    if (chunk.trim() === '' || chunk.trimStart().startsWith('%')) return [];
    return readChunk(chunk, where, first, unpack);
  });
}

function readChunk(
  chunk: string,
  where: string,
  firstLine: number,
  unpack: (item: unknown) => boolean,
): (InputObject | InputText)[] {
  const lineCounter = new LineCounter();
  const document = refusingBadYaml(where, () => parseDocument(chunk, { prettyErrors: false, lineCounter }));
  const problem = firstProblem(document.errors, lineCounter);
  if (problem !== undefined)
    throw new UsageError(`${where}: line ${firstLine + problem.line}: not valid YAML: ${problem.why}`);
  const value = refusingBadYaml(where, () => document.toJS() as unknown);
  const text = chunk.replace(/^[ \t]*\n/, '').trimEnd();
  if (value === null || value === undefined) return [{ text }];
  if (!isRecord(value))
    throw new UsageError(`${where}: expected a Kubernetes object, found ${describeDocument(value)}`);
  const { items } = value;
  if (Array.isArray(items) && items.some(unpack)) {
    return items.map((item: unknown, i) => {
      if (!isRecord(item)) throw new UsageError(`${where}: items[${i}]: expected a Kubernetes object`);
      return { where: `${where}, items[${i}]`, value: item };
    });
  }
  return [{ where, text, value, ...commentsOf(document) }];
}

/** A comment right above the first line belongs to that line's key, for the parser. */
function commentsOf(document: Document.Parsed): Pick<InputObject, 'comment' | 'innerComments'> {
  const { contents } = document;
  const first = isMap(contents) ? contents.items[0]?.key : undefined;
  const comment =
    document.commentBefore ?? contents?.commentBefore ?? (isNode(first) ? first.commentBefore : undefined) ?? undefined;
  let lines = linesOf(document.comment);
  visit(document, (_, node) => {
    if (!isNode(node) && !isPair(node)) return;
    const { comment: after, commentBefore: before } = node as {
      comment?: string | null;
      commentBefore?: string | null;
    };
    lines += linesOf(after) + linesOf(before);
  });
  const above = document.commentBefore === null ? linesOf(comment) : 0;
  return { ...(comment === undefined ? {} : { comment }), innerComments: lines - above };
}

function linesOf(comment: string | null | undefined): number {
  return comment === null || comment === undefined ? 0 : comment.split('\n').length;
}
