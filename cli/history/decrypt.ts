import type { Payload, PayloadCodec } from '@temporalio/common';

/**
 * Decodes every payload in the value with `codecs`, as the SDK does except for raw histories. Throws like the codecs.
 */
export async function decrypted<T>(value: T, codecs: readonly PayloadCodec[]): Promise<T> {
  let result: unknown = value;
  for (const codec of [...codecs].reverse()) result = await decodedBy(codec, result);
  return result as T;
}

async function decodedBy(codec: PayloadCodec, value: unknown): Promise<unknown> {
  if (isPayload(value)) return (await codec.decode([value]))[0];
  if (Array.isArray(value)) return Promise.all(value.map((each) => decodedBy(codec, each)));
  // 64-bit numbers and times are class instances without payloads.
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || isLong(value)) return value;
  const fields = Object.entries(value).map(async ([name, each]) => [name, await decodedBy(codec, each)] as const);
  return Object.fromEntries(await Promise.all(fields));
}

function isPayload(value: unknown): value is Payload {
  const { metadata, data } = (value ?? {}) as { metadata?: Record<string, unknown>; data?: unknown };
  return data instanceof Uint8Array && metadata?.['encoding'] instanceof Uint8Array;
}

const isLong = (value: object): boolean => 'low' in value && 'high' in value;
