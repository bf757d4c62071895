import { setTimeout as sleep } from 'node:timers/promises';
import type { Node } from '../../api/kubernetes.js';
import { isDomainError } from '../../core/failures.js';
import { createKubeClient } from '../../kube/client.js';

/** What the suite sees and does of the cluster that machines join. */
export interface Cluster {
  /** Whether addresses in it are IPv6. */
  isIpv6(): Promise<boolean>;
  /** `major.minor` of the API server. */
  version(): Promise<string>;
  /** Another autoscaler that launches nodes for this cluster now; undefined for none. */
  otherAutoscaler(now: number): Promise<string | undefined>;
  /** The Node of a machine once kubelet says that it is ready. Rejects when `signal` aborts. */
  joined(providerId: string, signal: AbortSignal): Promise<Node>;
  /** Deletes the Nodes of machines that are gone. */
  forget(providerIds: readonly string[]): Promise<void>;
  close(): void;
}

const leases = ['karpenter-leader-election', 'stowage-leader-election'];

/** The cluster of a kubeconfig. */
export function clusterOf(kubeconfig: string, pollMs: number): Cluster {
  const kube = createKubeClient({ kubeconfig, userAgent: 'stowage-aws-conformance' });
  const nodes = async (): Promise<Node[]> => {
    try {
      return await kube.list('Node');
    } catch (error) {
      if (isDomainError(error, 'Unavailable')) return [];
      throw error;
    }
  };
  return {
    isIpv6: async () => {
      const service = await kube.get('Service', { namespace: 'default', name: 'kubernetes' });
      return service?.spec.clusterIP?.includes(':') === true;
    },
    version: () => kube.serverVersion(),
    otherAutoscaler: async (now) => {
      const held = (await kube.list('Lease')).find(({ metadata, spec }) => {
        const until = Date.parse(spec?.renewTime ?? '') + (spec?.leaseDurationSeconds ?? 0) * 1000;
        return leases.includes(metadata.name ?? '') && (spec?.holderIdentity ?? '') !== '' && until > now;
      });
      return held && `${held.metadata.namespace ?? ''}/${held.metadata.name ?? ''}`;
    },
    joined: async (providerId, signal) => {
      for (;;) {
        const node = (await nodes()).find(({ spec }) => spec?.providerID === providerId);
        if (node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true)
          return node;
        await sleep(pollMs, undefined, { signal });
      }
    },
    forget: async (providerIds) => {
      for (const { metadata, spec } of await nodes()) {
        if (providerIds.includes(spec?.providerID ?? '')) await kube.delete('Node', { name: metadata.name ?? '' });
      }
    },
    close: () => kube.close(),
  };
}
