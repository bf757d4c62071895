import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KubernetesProxy, type KubernetesWrite } from '../../tools/stack/kubernetes-proxy/proxy.js';
import { kubernetesThrough } from '../../tools/stack/network/redirected.js';
import { createKubeClient } from '../../kube/client.js';
import { useStack } from './shared-stack.js';

// The proxy between the operator of `npm run suite -- crash` and the API server.
const { stack } = useStack(['apiserver']);
const writes: KubernetesWrite[] = [];
const name = `kubernetes-proxy-${process.pid}`;
let proxy: KubernetesProxy;
let kube: ReturnType<typeof createKubeClient>;
let drops = false;

beforeAll(async () => {
  const { apiserver: server = '', stowageKubeconfig: kubeconfig = '' } = stack();
  proxy = await KubernetesProxy.start({ server, kubeconfig }, (write) => {
    writes.push(write);
    return !drops;
  });
  kube = createKubeClient({ kubeconfig: kubernetesThrough(stack(), proxy.address), requestTimeoutMs: 2000 });
});

afterAll(async () => {
  kube.close();
  await proxy.stop();
});

test('the test proxy before the API server passes reads, and applies writes whose answer it drops when asked', async () => {
  const lease = { metadata: { name, namespace: 'stowage' }, spec: { holderIdentity: 'one' } };
  expect((await kube.create('Lease', lease)).outcome).toBe('created');

  drops = true;
  const patch = kube.patch('Lease', { name, namespace: 'stowage' }, { spec: { holderIdentity: 'two' } });
  await expect(patch).rejects.toThrow();
  drops = false;

  expect((await kube.get('Lease', { name, namespace: 'stowage' }))?.spec?.holderIdentity).toBe('two');
  expect(writes.map(({ method, path, status }) => [method, path.split('/').slice(-2).join('/'), status])).toEqual([
    ['POST', 'stowage/leases', 201],
    ['PATCH', `leases/${name}`, 200],
  ]);
});
