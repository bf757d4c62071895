import { cutText } from '../../../core/text.js';
import { DomainError } from '../../../core/failures.js';

/** One part of a MIME multipart document, as cloud-init and nodeadm read them. */
export interface MimePart {
  readonly contentType: string;
  /** The part's other headers, one a line, such as how the body is encoded. */
  readonly headers?: readonly string[];
  /** As it stands in the document: encoded, where a header says so. */
  readonly body: string;
}

export function writeMime(parts: readonly MimePart[]): string {
  const boundary = boundaryFor(parts);
  const written = parts.map(({ contentType, headers = [], body }) =>
    [`--${boundary}`, `Content-Type: ${contentType}`, ...headers, '', `${body.trim()}\n`].join('\n'),
  );
  return `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${boundary}"\n\n${written.join('\n')}\n--${boundary}--\n`;
}

/** One that no line of the parts begins with. */
function boundaryFor(parts: readonly MimePart[]): string {
  let boundary = '//';
  for (let i = 1; parts.some(({ body }) => `\n${body}`.includes(`\n--${boundary}`)); i++) boundary = `boundary-${i}`;
  return boundary;
}

/** Where headers end. White space is looked through once, however much of it there is. */
const blankLine = /\n[^\S\n]*\n/;

/** Whether a text begins as a MIME document does, rather than a script or YAML. */
export function isMime(text: string): boolean {
  const start = text.trimStart();
  return /^[\w-]+:/.test(start) && /^(MIME-Version|Content-Type):/im.test(start.split(blankLine, 1)[0] ?? '');
}

/** The parts of a MIME multipart document. Throws `NodeClassNotReady` for one whose headers name no parts (launch-templates/user-data). */
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

/** What follows each line that is the boundary, up to the next one. */
function sectionsOf(text: string, boundary: string): string[] {
  const sections: string[][] = [];
  for (const line of text.split('\n')) {
    if (isBoundary(line, `--${boundary}`)) sections.push(['']);
    else sections.at(-1)?.push(line);
  }
  return sections.map((lines) => lines.join('\n'));
}

/** It may close the document, and have white space behind it. */
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

/** A line that begins with white space goes on with the header before. */
const headersOf = (lines: string): string[] => lines.replace(/\n[ \t]+/g, ' ').split('\n');

function contentTypeOf(headers: readonly string[]): string | undefined {
  const type = headers.find(isContentType);
  return type?.slice(type.indexOf(':') + 1).trim();
}

function isContentType(header: string): boolean {
  return /^Content-Type:/i.test(header);
}
