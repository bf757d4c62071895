import { EC2Client } from '@aws-sdk/client-ec2';
import { parseArgs } from 'node:util';
import { CloudProxyControl } from '../cloud-proxy/control.js';
import { NodeJoiner } from './joiner.js';
import { KubernetesApi } from './kubernetes-api.js';

const { values } = parseArgs({
  options: {
    aws: { type: 'string' },
    kubeconfig: { type: 'string' },
    cluster: { type: 'string', default: 'stowage-local' },
    region: { type: 'string', default: 'us-west-2' },
  },
});
if (values.aws === undefined || values.kubeconfig === undefined) throw new Error('--aws and --kubeconfig are needed.');

const joiner = new NodeJoiner({
  cluster: values.cluster,
  region: values.region,
  ec2: new EC2Client({
    region: values.region,
    endpoint: values.aws,
    credentials: { accessKeyId: 'joiner', secretAccessKey: 'local' },
  }),
  control: new CloudProxyControl(values.aws),
  kubernetes: new KubernetesApi(values.kubeconfig),
  log: (line) => process.stdout.write(`${new Date().toISOString()} ${line}\n`),
});

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.once(name, () => {
    joiner.stop();
    process.exit(0);
  });
}
await joiner.run();
