import { isMap, isNode, isPair, visit } from 'yaml';
import type { Document } from 'yaml';
import { UsageError } from '../exit.js';
import { describeDocument, isRecord, placeOf, unpackList } from '../objects/read-documents.js';
import type { FoundDocument } from '../objects/read-documents.js';

/** One object of the input. */
export interface InputObject {
  /** File, and position of the object in it. */
  readonly where: string;
  /** Its text in the file; absent for an item of a List. */
  readonly text?: string;
  readonly value: Record<string, unknown>;
  /** The comment above it. */
  readonly comment?: string;
  /** Number of comment lines inside it. */
  readonly innerComments?: number;
  readonly opensLastLine?: true;
}

/** A document without an object: only comments. */
export interface InputText {
  readonly text: string;
}

/**
 * The objects of a document. Lists are unpacked if `unpack` is true for an item. Throws `UsageError` if it is not an
 * object.
 */
export function inputsOf(found: FoundDocument, unpack: (item: unknown) => boolean): (InputObject | InputText)[] {
  const { text, value, yaml, opensLastLine } = found;
  if (value === null) return [{ text }];
  const where = placeOf(found);
  const items = unpackList(Array.isArray(value) ? { ...found, value: { kind: 'List', items: value } } : found);
  if (items?.some((item) => unpack(item.value)) === true) {
    return items.map((item) => {
      if (!isRecord(item.value)) throw new UsageError(`${placeOf(item)}: expected a Kubernetes object`);
      return { where: placeOf(item), value: item.value };
    });
  }
  if (!isRecord(value))
    throw new UsageError(`${where}: expected a Kubernetes object, found ${describeDocument(value)}`);
  return [{ where, text, value, ...(yaml && commentsOf(yaml)), ...(opensLastLine && { opensLastLine }) }];
}

/** The parser attaches a comment directly above the first line to that line's key. */
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
