import { gunzipSync } from 'node:zlib';

const prefixBytes = 5;

/** The one message of a unary gRPC body: a flag, four bytes of length, the message. */
export function messageIn(body: Buffer): Buffer | undefined {
  if (body.length < prefixBytes) return undefined;
  const message = body.subarray(prefixBytes, prefixBytes + body.readUInt32BE(1));
  return body[0] === 1 ? gunzipSync(message) : message;
}
