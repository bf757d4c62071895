import { createKubeClient } from '../kube/client.js';
import type { KubeClient } from '../kube/port.js';
import type { Settings } from '../process/settings.js';
import { UsageError } from './exit.js';

type Reader = Pick<KubeClient, 'get'> & { close(): void };

/**
 * Throws `UsageError` if no node has that name, since an order for it would have no effect. If the API server does not
 * respond or denies access, the order proceeds.
 */
export async function checkNode(
  settings: Pick<Settings, 'KUBECONFIG'>,
  name: string,
  connect: (settings: Pick<Settings, 'KUBECONFIG'>) => Reader = connected,
): Promise<void> {
  let isThere = true;
  let kube: Reader | undefined;
  try {
    kube = connect(settings);
    isThere = (await kube.get('Node', { name })) !== undefined;
  } catch {
    // Unknown.
  } finally {
    kube?.close();
  }
  if (!isThere) throw new UsageError(`there is no node "${name}"`);
}

const connected = ({ KUBECONFIG: kubeconfig }: Pick<Settings, 'KUBECONFIG'>): Reader =>
  createKubeClient({
    userAgent: 'stowage-order',
    requestTimeoutMs: 5000,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });
