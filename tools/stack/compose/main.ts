import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineImages } from '../cloud-proxy/images.js';
import { kubeconfig, prepareCredentials, readTokens } from '../credentials.js';
import { seedCloud } from '../seed.js';

// The one-shot steps of docker-compose.yml: what `npm run stack` does between starting its processes.

const shared = '/shared';
const cluster = process.env['CLUSTER_NAME'] ?? 'stowage-local';
const region = process.env['AWS_REGION'] ?? 'us-west-2';

/** Before anything starts: the service-account key, the tokens, the machine images. Kept when they are there. */
function keys(): void {
  mkdirSync(join(shared, 'certificates'), { recursive: true });
  writeFileSync(join(shared, 'images.json'), JSON.stringify(machineImages()));
  prepareCredentials(shared);
}

/** Once the API server serves, and so has written its certificate: kubeconfigs for the containers and for the host. */
function kubeconfigs(): void {
  const tokens = readTokens(shared);
  const certificate = join(shared, 'certificates/apiserver.crt');
  const write = (file: string, user: keyof typeof tokens, server: string): void =>
    writeFileSync(join(shared, file), kubeconfig({ cluster, server, certificate, user, token: tokens[user] }));
  // These two names are in the certificate that the API server signs for itself.
  write('admin.kubeconfig', 'admin', 'https://kubernetes:6443');
  write('stowage.kubeconfig', 'stowage', 'https://kubernetes:6443');
  write('host.kubeconfig', 'admin', 'https://localhost:6443');
}

const steps: Readonly<Record<string, () => unknown>> = {
  keys,
  kubeconfigs,
  seed: () => seedCloud({ cluster, region, ports: { proxy: Number(process.env['PROXY_PORT'] ?? '5005') } }),
};

const step = steps[process.argv[2] ?? ''];
if (step === undefined) throw new Error(`Expected one of ${Object.keys(steps).join(', ')}.`);
await step();
