import { parseArgs } from 'node:util';
import { Cloud } from './cloud.js';
import { createProxy } from './server.js';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    moto: { type: 'string' },
    'moto-account': { type: 'string' },
    cluster: { type: 'string', default: 'stowage-local' },
    region: { type: 'string', default: 'us-west-2' },
    'cluster-endpoint': { type: 'string', default: 'https://127.0.0.1:6443' },
    'cluster-certificate': { type: 'string' },
    answers: { type: 'string' },
    policy: { type: 'string' },
    'node-role': { type: 'string' },
    egress: { type: 'string' },
    families: { type: 'string' },
  },
});
if (values.port === undefined || values.moto === undefined) throw new Error('--port and --moto are needed.');

const cloud = new Cloud({
  motoEndpoint: values.moto,
  motoAccount: values['moto-account'],
  region: values.region,
  cluster: values.cluster,
  clusterEndpoint: values['cluster-endpoint'],
  clusterCertificate: values['cluster-certificate'],
  answersFolder: values.answers,
  policyFile: values.policy,
  nodeRole: values['node-role'],
  egressFolder: values.egress,
  instanceFamilies: values.families?.split(','),
});
const server = createProxy(cloud);
server.listen(Number(values.port), values.host, () => {
  process.stdout.write(`The cloud proxy listens on ${values.host}:${values.port ?? ''}\n`);
});
// moto needs seconds for the full lists of types and offerings: have them before the first caller does.
void cloud.catalogue.pools().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.once(name, () => {
    cloud.close();
    server.closeAllConnections();
    server.close();
  });
}
