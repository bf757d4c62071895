import { createKubeClient } from '../kube/client.js';
import type { KubeClient } from '../kube/port.js';
import type { Settings } from '../process/settings.js';
import { UsageError } from './exit.js';

type Reader = Pick<KubeClient, 'get'> & { close(): void };

/**
 * Throws `UsageError` where no node has that name: what is ordered for it would hold nothing. Where the API server does not say, as to one
 * who may not read nodes, the order goes on.
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
    // Nobody knows.
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
