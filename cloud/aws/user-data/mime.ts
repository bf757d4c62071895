import { cutText } from '../../../core/text.js';
import { DomainError } from '../../../core/failures.js';

/** One part of a MIME multipart document, as cloud-init and nodeadm read them. */
export interface MimePart {
  readonly contentType: string;
  /** Other headers of the part, one per line, such as its encoding. */
  readonly headers?: readonly string[];
  /** As in the document: encoded if a header says so. */
  readonly body: string;
}

export function writeMime(parts: readonly MimePart[]): string {
  const boundary = boundaryFor(parts);
  const written = parts.map(({ contentType, headers = [], body }) =>
    [`--${boundary}`, `Content-Type: ${contentType}`, ...headers, '', `${body.trim()}\n`].join('\n'),
  );
  return `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${boundary}"\n\n${written.join('\n')}\n--${boundary}--\n`;
}

/** A boundary that is not the start of any line of the parts. */
function boundaryFor(parts: readonly MimePart[]): string {
  let boundary = '//';
  for (let i = 1; parts.some(({ body }) => `\n${body}`.includes(`\n--${boundary}`)); i++) boundary = `boundary-${i}`;
  return boundary;
}

/** End of the headers. Scans white space only once, in linear time. */
const blankLine = /\n[^\S\n]*\n/;

/** Whether a text starts like a MIME document, rather than a script or YAML. */
export function isMime(text: string): boolean {
  const start = text.trimStart();
  return /^[\w-]+:/.test(start) && /^(MIME-Version|Content-Type):/im.test(start.split(blankLine, 1)[0] ?? '');
}

/**
 * The parts of a MIME multipart document. Throws `NodeClassNotReady` if its headers do not declare multipart
 * (launch-templates/user-data).
 */
export function readMime(text: string): MimePart[] {
  const plain = text.replaceAll('\r\n', '\n').trimStart();
  const end = plain.search(blankLine);
  const type = end < 0 ? undefined : contentTypeOf(headersOf(plain.slice(0, end)));
  const mark = /boundary="?([^"\n;]+)"?/i.exec(type ?? '')?.[1];
  if (type === undefined || mark === undefined || !/^multipart\//i.test(type)) {
    const found = type === undefined ? 'its headers have none' : `it is ${cutText(type, 100)}`;
    throw new DomainError(
      'NodeClassNotReady',
      `spec.userData begins as a MIME document; its Content-Type must be multipart, with a boundary: ${found}`,
    );
  }
  return sectionsOf(plain, mark).flatMap(readPart);
}

/** The text after each boundary line, up to the next one. */
function sectionsOf(text: string, boundary: string): string[] {
  const sections: string[][] = [];
  for (const line of text.split('\n')) {
    if (isBoundary(line, `--${boundary}`)) sections.push(['']);
    else sections.at(-1)?.push(line);
  }
  return sections.map((lines) => lines.join('\n'));
}

/** It may be the closing boundary and have trailing white space. */
function isBoundary(line: string, mark: string): boolean {
  return line.startsWith(mark) && /^(--)?[ \t]*$/.test(line.slice(mark.length));
}

function readPart(section: string): MimePart[] {
  const trimmed = section.replace(/^\n+/, '');
  const end = trimmed.search(blankLine);
  if (end < 0) return [];
  const headers = headersOf(trimmed.slice(0, end));
  return [
    {
      contentType: contentTypeOf(headers) ?? 'text/plain',
      headers: headers.filter((header) => !isContentType(header)),
      body: trimmed.slice(end).trim(),
    },
  ];
}

/** A line that starts with white space continues the previous header. */
const headersOf = (lines: string): string[] => lines.replace(/\n[ \t]+/g, ' ').split('\n');

function contentTypeOf(headers: readonly string[]): string | undefined {
  const type = headers.find(isContentType);
  return type?.slice(type.indexOf(':') + 1).trim();
}

function isContentType(header: string): boolean {
  return /^Content-Type:/i.test(header);
}
