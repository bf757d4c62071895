import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineImages } from '../cloud-proxy/images.js';
import { seedCloud } from '../seed.js';

// The one-shot steps of docker-compose.yml: what `npm run stack` does between starting its processes.

const shared = '/shared';
const cluster = process.env['CLUSTER_NAME'] ?? 'stowage-local';
const region = process.env['AWS_REGION'] ?? 'us-west-2';
const account = 'system:serviceaccount:stowage:stowage';

/** Before anything starts: the service-account key, the tokens, the machine images. Kept when they are there. */
function keys(): void {
  mkdirSync(join(shared, 'certificates'), { recursive: true });
  writeFileSync(join(shared, 'images.json'), JSON.stringify(machineImages()));
  if (existsSync(join(shared, 'tokens.csv'))) return;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(shared, 'service-account.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(shared, 'service-account.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const token = (): string => randomBytes(24).toString('hex');
  writeFileSync(
    join(shared, 'tokens.csv'),
    `${token()},admin,admin,"system:masters"\n` +
      `${token()},${account},stowage,"system:serviceaccounts,system:serviceaccounts:stowage"\n`,
  );
}

/** Once the API server serves, and so has written its certificate: kubeconfigs for the containers and for the host. */
function kubeconfigs(): void {
  const [admin, stowage] = readFileSync(join(shared, 'tokens.csv'), 'utf8').split('\n');
  const authority = readFileSync(join(shared, 'certificates/apiserver.crt')).toString('base64');
  const write = (file: string, user: string, token: string, server: string): void =>
    writeFileSync(
      join(shared, file),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': authority } }],
        users: [{ name: user, user: { token } }],
        contexts: [{ name: cluster, context: { cluster, user, namespace: 'default' } }],
        'current-context': cluster,
      }),
    );
  const tokenOf = (line: string | undefined): string => line?.split(',')[0] ?? '';
  // These two names are in the certificate that the API server signs for itself.
  write('admin.kubeconfig', 'admin', tokenOf(admin), 'https://kubernetes:6443');
  write('stowage.kubeconfig', 'stowage', tokenOf(stowage), 'https://kubernetes:6443');
  write('host.kubeconfig', 'admin', tokenOf(admin), 'https://localhost:6443');
}

const steps: Readonly<Record<string, () => unknown>> = {
  keys,
  kubeconfigs,
  seed: () => seedCloud({ cluster, region, ports: { proxy: Number(process.env['PROXY_PORT'] ?? '5005') } }),
};

const step = steps[process.argv[2] ?? ''];
if (step === undefined) throw new Error(`Expected one of ${Object.keys(steps).join(', ')}.`);
await step();
