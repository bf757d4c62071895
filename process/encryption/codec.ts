import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { KeyRing, PayloadKey } from './key-ring.js';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** As in Temporal's examples: a nonce, the encrypted payload with its metadata, a tag. */
const encryptedEncoding = 'binary/encrypted';
const keyIdField = 'encryption-key-id';

const { Payload: payloadType } = proto.temporal.api.common.v1;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (value: Uint8Array | null | undefined): string | undefined =>
  value == null ? undefined : new TextDecoder().decode(value);

export const isEncrypted = ({ metadata }: Payload): boolean => textOf(metadata?.['encoding']) === encryptedEncoding;

/**
 * Encrypts payloads with the current key of `ring`, and decrypts them with the key that each names. Unencrypted
 * payloads are passed unchanged, so that those written before encryption can be read. Throws for a missing key: the
 * caller retries until it exists.
 *
 * A payload that fails authentication was modified, or was not encrypted by Stowage. Throws in this case too, unless
 * `passesOn`: workers pass such a payload to the workflow unchanged, whose converter refuses it
 * (workflows/payload-converter.ts), since any client may send a signal. Results of activities are never passed on.
 */
export function encryptingCodec(ring: KeyRing, { passesOn = false } = {}): PayloadCodec {
  return {
    encode: (payloads) => {
      const key = ring.current;
      return settled(() => (key === undefined ? payloads : payloads.map((payload) => encrypt(payload, key))));
    },
    decode: (payloads, context) =>
      settled(() =>
        payloads.map((payload) =>
          isEncrypted(payload) ? decrypt(payload, ring, passesOn && context?.type === 'workflow') : payload,
        ),
      ),
  };
}

/** Converts an exception into a rejection. */
// eslint-disable-next-line @typescript-eslint/require-await -- the SDK wants a Promise
async function settled<T>(work: () => T): Promise<T> {
  return work();
}

function encrypt(payload: Payload, { id, key }: PayloadKey): Payload {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv);
  const plain = payloadType.encode(payload).finish();
  const data = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: bytes(encryptedEncoding), [keyIdField]: bytes(id) }, data };
}

function decrypt(payload: Payload, ring: KeyRing, passesOn: boolean): Payload {
  const id = textOf(payload.metadata?.[keyIdField]) ?? '';
  const { key } = ring.get(id);
  try {
    return opened(Buffer.from(payload.data ?? []), key);
  } catch {
    if (passesOn) return payload;
    throw new Error(`a payload that names key "${id}" was not encrypted with it, or was modified`);
  }
}

function opened(data: Buffer, key: PayloadKey['key']): Payload {
  const decipher = createDecipheriv(algorithm, key, data.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(data.subarray(-tagBytes));
  const plain = Buffer.concat([decipher.update(data.subarray(ivBytes, -tagBytes)), decipher.final()]);
  return payloadType.decode(plain);
}
