import { createHash, createHmac } from 'node:crypto';
import { lookUp } from '../../core/own.js';

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface SignedGet {
  readonly url: URL;
  readonly region: string;
  readonly service: string;
  readonly credentials: AwsCredentials;
  /** Milliseconds of the epoch. */
  readonly now: number;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/**
 * Headers of a GET without query, signed by Signature Version 4. For services of which no client package is at hand;
 * everything else goes through the SDK.
 */
export function signedHeaders({ url, region, service, credentials, now }: SignedGet): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const sent: Record<string, string> = {
    'x-amz-date': time,
    ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
  };
  const headers: Record<string, string> = { host: url.host, ...sent };
  const names = Object.keys(headers).sort();
  // The path is encoded once more for the signature, as every service but S3 wants it.
  const path = url.pathname.split('/').map(encodeURIComponent).join('/');
  const canonical = [
    'GET',
    path,
    '',
    ...names.map((name) => `${name}:${lookUp(headers, name) ?? ''}`),
    '',
    names.join(';'),
    sha256(''),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  const signature = hmac(key, toSign).toString('hex');
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}
