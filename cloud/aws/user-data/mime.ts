/** One part of a MIME multipart document, as cloud-init and nodeadm read them. */
export interface MimePart {
  readonly contentType: string;
  readonly body: string;
}

const boundary = '//';

export function writeMime(parts: readonly MimePart[]): string {
  const written = parts.map(
    ({ contentType, body }) => `--${boundary}\nContent-Type: ${contentType}\n\n${body.trim()}\n`,
  );
  return `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${boundary}"\n\n${written.join('\n')}\n--${boundary}--\n`;
}

/** Whether a text is a MIME document rather than a script or YAML. */
export function isMime(text: string): boolean {
  return /^(MIME-Version|Content-Type):/im.test(text.trimStart().split(/\n\s*\n/)[0] ?? '') && /boundary=/i.test(text);
}

/** The parts of a MIME multipart document; empty when it names no boundary. */
export function readMime(text: string): MimePart[] {
  const plain = text.replaceAll('\r\n', '\n');
  const mark = /boundary="?([^"\n;]+)"?/i.exec(plain)?.[1];
  if (mark === undefined) return [];
  const sections = plain
    .split(new RegExp(`^--${mark.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?:--)?[ \\t]*$`, 'm'))
    .slice(1);
  return sections.flatMap((section) => {
    const trimmed = section.replace(/^\n+/, '');
    const end = trimmed.search(/\n\s*\n/);
    if (end < 0) return [];
    const headers = trimmed.slice(0, end);
    const contentType = /^Content-Type:\s*(.+)$/im.exec(headers)?.[1]?.trim() ?? 'text/plain';
    const raw = trimmed.slice(end).trim();
    const encoded = /^Content-Transfer-Encoding:\s*base64$/im.test(headers);
    return [{ contentType, body: encoded ? Buffer.from(raw, 'base64').toString('utf8') : raw }];
  });
}
