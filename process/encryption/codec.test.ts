import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { SettingsError } from '../settings.js';
import { encryptingCodec, isEncrypted } from './codec.js';
import { KeyRing } from './key-ring.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-keys-'));
const file = join(folder, 'keys.yaml');
const [old, fresh] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const secret = { pods: ['shop/web-0'], price: 0.17 };
const workflow = { type: 'workflow', namespace: 'n', workflowId: 'w' } as const;
const activity = { type: 'activity', namespace: 'n', isLocal: false } as const;

afterAll(() => rmSync(folder, { recursive: true }));

/** YAML is a superset of JSON. */
const write = (content: unknown): void => writeFileSync(file, JSON.stringify(content));
let now: number;
let problems: string[];
const ring = (): KeyRing => new KeyRing({ file, now: () => now, onProblem: (problem) => problems.push(problem) });

beforeEach(() => {
  now = 0;
  problems = [];
  write({ current: 'old', keys: { old } });
});

const plain = (): Payload => defaultPayloadConverter.toPayload(secret);
const encrypted = async (): Promise<Payload> => (await encryptingCodec(ring()).encode([plain()]))[0]!;

/** With one bit turned in what it holds. */
function changed({ metadata, data }: Payload, at: number): Payload {
  const other = Uint8Array.from(data!);
  other[at < 0 ? other.length + at : at]! ^= 1;
  return { metadata, data: other };
}

describe('encrypted payloads', () => {
  test('a payload is decrypted to itself, and its encrypted form shows nothing of it', async () => {
    const codec = encryptingCodec(ring());
    const [payload] = await codec.encode([plain()]);

    expect(isEncrypted(payload!)).toBe(true);
    expect(Buffer.from(payload!.data!).toString('latin1')).not.toContain('web-0');
    expect(Object.keys(payload!.metadata!).sort()).toEqual(['encoding', 'encryption-key-id']);
    const [back] = await codec.decode([payload!]);
    expect(defaultPayloadConverter.fromPayload(back!)).toEqual(secret);
  });

  test('equal payloads are encrypted differently each time', async () => {
    expect((await encrypted()).data).not.toEqual((await encrypted()).data);
  });

  test('payloads of an old key are read after a rotation, new ones use the new key', async () => {
    const before = await encrypted();
    const codec = encryptingCodec(ring());
    write({ current: 'new', keys: { old, new: fresh } });
    now += 10_000;
    const [after] = await codec.encode([plain()]);

    expect(Buffer.from(after!.metadata!['encryption-key-id']!).toString()).toBe('new');
    const back = await codec.decode([before, after!]);
    expect(back.map((each) => defaultPayloadConverter.fromPayload(each))).toEqual([secret, secret]);
  });

  test('an unknown key is an error that names it and the known ones, until the file has it', async () => {
    const payload = await encrypted();
    write({ current: 'new', keys: { new: fresh } });
    const codec = encryptingCodec(ring(), { passesOn: true });

    await expect(codec.decode([payload], workflow)).rejects.toThrow(/encrypted with key "old".* its keys: new/);
    write({ current: 'new', keys: { old, new: fresh } });
    now += 1000;
    expect(defaultPayloadConverter.fromPayload((await codec.decode([payload], workflow))[0]!)).toEqual(secret);
  });

  test.each([
    ['the nonce', 0],
    ['the text', 20],
    ['the tag', -1],
  ])('a change of %s is detected', async (_, at) => {
    const codec = encryptingCodec(ring());

    await expect(codec.decode([changed(await encrypted(), at)])).rejects.toThrow(/names key "old".*or was modified/);
  });

  test('another key under the same id is detected', async () => {
    const payload = await encrypted();
    write({ current: 'old', keys: { old: fresh } });

    await expect(encryptingCodec(ring()).decode([payload])).rejects.toThrow(/was not encrypted with it/);
  });

  test.each([[[]], [[1, 2, 3]]])('%o is not an encrypted payload', async (bytes) => {
    const payload = { ...(await encrypted()), data: Uint8Array.from(bytes) };

    await expect(encryptingCodec(ring()).decode([payload])).rejects.toThrow(/names key "old"/);
  });

  test('workers pass undecryptable payloads on to workflows, and fail for activities', async () => {
    const payload = changed(await encrypted(), 20);
    const codec = encryptingCodec(ring(), { passesOn: true });

    expect(await codec.decode([payload], workflow)).toEqual([payload]);
    await expect(codec.decode([payload], activity)).rejects.toThrow(/was modified/);
    await expect(codec.decode([payload])).rejects.toThrow(/was modified/);
  });

  test('payloads from before encryption are read; without a current key new ones are plain', async () => {
    const codec = encryptingCodec(ring());
    expect(await codec.decode([plain()])).toEqual([plain()]);

    const payload = await encrypted();
    write({ keys: { old } });
    const without = encryptingCodec(ring());
    expect(await without.encode([plain()])).toEqual([plain()]);
    expect(defaultPayloadConverter.fromPayload((await without.decode([payload]))[0]!)).toEqual(secret);
  });
});

describe('the file of encryption keys', () => {
  test.each([
    ['no key of 32 bytes', { keys: { old: 'c2hvcnQ=' } }, /keys\.old: is not base64 of 32 bytes/],
    ['no base64', { keys: { old: '!'.repeat(44) } }, /keys\.old: is not base64/],
    [
      'a current key that is missing',
      { current: 'new', keys: { old } },
      /current is "new", which keys does not have: old/,
    ],
    ['a field too many', { keys: { old }, primary: 'old' }, /primary/],
    ['no keys', {}, /keys/],
    ['an id with a slash', { keys: { 'a/b': old } }, /keys: "a\/b" is not a valid key id/],
  ])('with %s is refused, and named', (_, content, message) => {
    write(content);

    expect(ring).toThrow(SettingsError);
    expect(ring).toThrow(message);
    expect(ring).not.toThrow(new RegExp(old.slice(0, 8).replaceAll(/[+/]/g, '.')));
  });

  test('that is missing or no YAML is refused without showing its content', () => {
    writeFileSync(file, `keys: { old: ${old}`);
    expect(ring).toThrow(/it is neither YAML nor JSON: \w+ \w+ at line 1, column \d+$/);
    rmSync(file);
    expect(ring).toThrow(/TEMPORAL_PAYLOAD_KEYS_FILE .*keys\.yaml.*ENOENT/);
  });

  test('that becomes invalid later leaves the keys as they were, and is logged once', async () => {
    const codec = encryptingCodec(ring());
    write({ current: 'gone', keys: {} });
    for (let i = 0; i < 3; i++) {
      now += 10_000;
      const [payload] = await codec.encode([plain()]);
      expect(Buffer.from(payload!.metadata!['encryption-key-id']!).toString()).toBe('old');
    }

    expect(problems).toEqual([expect.stringContaining('current is "gone"')]);
  });
});
