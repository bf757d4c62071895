import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const openssl = async (args: readonly string[]): Promise<void> => {
  await promisify(execFile)('openssl', [...args]);
};

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A certificate authority in `folder`, with a certificate that serves for both sides of a connection to this machine. */
export async function makeCertificates(folder: string, name: string): Promise<Certificates> {
  const file = (kind: string): string => join(folder, `${name}-${kind}`);
  const request = ['req', '-x509', '-days', '2', ...ecKey];
  await openssl([...request, '-keyout', file('ca.key'), '-out', file('ca.crt'), '-subj', `/CN=${name}`]);
  await openssl([
    ...[...request, '-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-keyout', file('key'), '-out', file('crt')],
    ...['-subj', `/CN=localhost of ${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
  ]);
  const [ca, cert, key] = ['ca.crt', 'crt', 'key'].map((kind) => readFileSync(file(kind)));
  return { ca: ca!, cert: cert!, key: key! };
}

export interface Certificates {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}
