import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { AuditedRequest } from '../../../test/checker/audit/judge.js';
import { serviceAccount } from '../credentials.js';

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp: string;
}

const kinds: Readonly<Partial<Record<string, AuditedRequest['kind']>>> = {
  pods: 'Pod',
  nodes: 'Node',
  nodeclaims: 'NodeClaim',
};
const bytesAtOnce = 1 << 16;

/** Reads what an API server appends to its audit log, from the start. */
export class AuditLog {
  private offset = 0;
  private rest = '';

  constructor(private readonly path: string) {}

  /** What was written since the last look. */
  next(): AuditedRequest[] {
    const lines = (this.rest + this.read()).split('\n');
    // The last line may not be whole yet.
    this.rest = lines.pop() ?? '';
    return lines.flatMap((line) => {
      const request = requestOf(line);
      return request === undefined ? [] : [request];
    });
  }

  private read(): string {
    if (!existsSync(this.path)) return '';
    const file = openSync(this.path, 'r');
    try {
      const parts: Buffer[] = [];
      for (;;) {
        const buffer = Buffer.alloc(bytesAtOnce);
        const length = readSync(file, buffer, 0, bytesAtOnce, this.offset);
        if (length === 0) return Buffer.concat(parts).toString('utf8');
        this.offset += length;
        parts.push(buffer.subarray(0, length));
      }
    } finally {
      closeSync(file);
    }
  }
}

function requestOf(line: string): AuditedRequest | undefined {
  const event = parsed(line);
  const kind = kinds[event?.objectRef?.resource ?? ''];
  if (event?.stage !== 'ResponseComplete' || kind === undefined || event.objectRef?.name === undefined)
    return undefined;
  const { name, namespace, subresource } = event.objectRef;
  const { code = 0 } = event.responseStatus ?? {};
  return {
    byStowage: event.user.username === serviceAccount,
    verb: subresource === 'eviction' ? 'evict' : 'delete',
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    succeeded: code >= 200 && code < 300,
    at: Date.parse(event.stageTimestamp),
  };
}

/** A line that an API server was killed over says nothing. */
function parsed(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}
