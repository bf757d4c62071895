import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Who Stowage is to the API server. */
export const serviceAccount = 'system:serviceaccount:stowage:stowage';

/** The bearer tokens that a local API server knows. */
export interface Tokens {
  admin: string;
  stowage: string;
}

/** Makes the service-account key pair and tokens.csv in `folder` where there are none yet. */
export function prepareCredentials(folder: string): void {
  const key = join(folder, 'service-account.key');
  if (!existsSync(key)) {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(key, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    writeFileSync(join(folder, 'service-account.pub'), pair.publicKey.export({ type: 'spki', format: 'pem' }));
  }
  const tokens = join(folder, 'tokens.csv');
  if (existsSync(tokens)) return;
  const token = (): string => randomBytes(24).toString('hex');
  const lines = [
    `${token()},admin,admin,"system:masters"`,
    `${token()},${serviceAccount},stowage,"system:serviceaccounts,system:serviceaccounts:stowage"`,
  ];
  writeFileSync(tokens, `${lines.join('\n')}\n`, { mode: 0o600 });
}

export function readTokens(folder: string): Tokens {
  const lines = readFileSync(join(folder, 'tokens.csv'), 'utf8').split('\n');
  return { admin: lines[0]!.split(',')[0]!, stowage: lines[1]!.split(',')[0]! };
}

/** A kubeconfig of one user; `certificate` is the file that the API server signed for itself. */
export function kubeconfig(access: {
  cluster: string;
  server: string;
  certificate: string;
  user: string;
  token: string;
}): string {
  const { cluster, server, certificate, user, token } = access;
  const authority = readFileSync(certificate).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: cluster, context: { cluster, user, namespace: 'default' } }],
    'current-context': cluster,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
