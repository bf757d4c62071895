import { createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { messageOf, parserMessageOf } from '../../core/error-message.js';
import { parseSettings } from '../settings-files.js';
import { readSecretFile, SettingsError, shownPath } from '../settings.js';

export interface PayloadKey {
  readonly id: string;
  readonly key: KeyObject;
}

interface Keys {
  readonly current: PayloadKey | undefined;
  readonly byId: ReadonlyMap<string, PayloadKey>;
}

const keyBytes = 32;
/** A mounted Secret is updated within about a minute. */
const rereadMs = 10_000;
/** For an unknown key, which may have been added just now. */
const urgentRereadMs = 1000;

const setting = 'TEMPORAL_PAYLOAD_KEYS_FILE (--temporal-payload-keys-file)';

const schema = z.strictObject({
  current: z.string().optional(),
  keys: z.record(
    z.string().regex(/^[\w.-]{1,64}$/, 'is not a valid key id: 1 to 64 letters, digits, dots, dashes and underscores'),
    z
      .string()
      .refine(isKey, { error: `is not base64 of ${keyBytes} bytes (openssl rand -base64 ${keyBytes} makes one)` }),
  ),
});

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]+=*$/.test(text) && Buffer.from(text, 'base64').length === keyBytes;
}

/** The keys of a file. Throws `SettingsError` that names file and field, and never a key. */
function readKeys(file: string): Keys {
  const named = `${setting} ${shownPath(file)}`;
  const text = readSecretFile(setting, file).toString('utf8');
  let document: unknown;
  try {
    document = parseSettings(text);
  } catch (error) {
    throw new SettingsError(`${named}: it is neither YAML nor JSON: ${parserMessageOf(error)}`);
  }
  const { data, error } = schema.safeParse(document);
  if (error !== undefined) throw new SettingsError(`${named}: ${problemsOf(error).join('; ')}`);
  const byId = new Map(
    Object.entries(data.keys).map(([id, text]) => [id, { id, key: createSecretKey(Buffer.from(text, 'base64')) }]),
  );
  const current = data.current === undefined ? undefined : byId.get(data.current);
  if (data.current !== undefined && current === undefined) {
    throw new SettingsError(
      `${named}: current is "${data.current}", which keys does not have: ${[...byId.keys()].join(', ')}`,
    );
  }
  return { current, byId };
}

function problemsOf({ issues }: z.ZodError): string[] {
  return issues.flatMap((issue) =>
    issue.code === 'invalid_key'
      ? issue.issues.map(({ message }) => `keys: "${String(issue.path.at(-1))}" ${message}`)
      : [`${issue.path.join('.') || 'the document'}: ${issue.message}`],
  );
}

interface KeyRingOptions {
  readonly file: string;
  readonly now: () => number;
  /** Called if a formerly valid file becomes invalid; its last valid keys stay in use. */
  readonly onProblem: (message: string) => void;
}

/** The keys of a file, reloaded regularly. */
export class KeyRing {
  private keys: Keys;
  private readAt: number;
  private problem = '';

  /** Throws `SettingsError` if the file is invalid at start. */
  constructor(private readonly options: KeyRingOptions) {
    this.keys = readKeys(options.file);
    this.readAt = options.now();
  }

  /** The key for new payloads; undefined if they are not encrypted. */
  get current(): PayloadKey | undefined {
    this.rereadIfOlder(rereadMs);
    return this.keys.current;
  }

  /** Throws for an id that is not in the file. */
  get(id: string): PayloadKey {
    this.rereadIfOlder(this.keys.byId.has(id) ? rereadMs : urgentRereadMs);
    const found = this.keys.byId.get(id);
    if (found === undefined) {
      const known = [...this.keys.byId.keys()].join(', ') || 'none';
      throw new Error(
        `a payload is encrypted with key "${id}", which ${this.options.file} does not have; its keys: ${known}`,
      );
    }
    return found;
  }

  private rereadIfOlder(olderThanMs: number): void {
    const { file, now, onProblem } = this.options;
    if (now() - this.readAt < olderThanMs) return;
    this.readAt = now();
    try {
      this.keys = readKeys(file);
      this.problem = '';
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.problem) onProblem(problem);
      this.problem = problem;
    }
  }
}
