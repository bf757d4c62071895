import type { Workload } from '../../api/kubernetes.js';
import { isDomainError } from '../../core/failures.js';
import { leaseHolder } from '../../kube/leases.js';
import type { LimiterClock } from '../../kube/limiter.js';
import type { KubeClient } from '../../kube/port.js';
import { failed, okCheck, warning } from './check.js';
import type { Check } from './check.js';

type Kube = Pick<KubeClient, 'get' | 'list'>;
interface LeaseRef {
  readonly namespace: string;
  readonly name: string;
}

/** Leaders renew their lease every two seconds. */
const observeMs = 3000;
const unread = 'see permissions: Leases and Deployments are read';

/** Whether an operator of Stowage leads. */
export function operatorCheck(kube: Kube, lease: LeaseRef, clock: LimiterClock): Check {
  return {
    name: 'operator',
    needs: ['kubernetes'],
    unanswered: unread,
    run: async () => {
      const holder = await leaseHolder({ client: kube, ...lease, observeMs, clock });
      if (holder !== undefined) return okCheck(`${holder} leads`);
      return failed(
        `nobody holds the lease ${lease.namespace}/${lease.name}`,
        'start an operator (stowage run --role operator), or see /readyz?verbose of those that run',
      );
    },
  };
}

/** Whether Karpenter runs: by its lease, or by a Deployment whose lease Stowage does not watch. */
export function karpenterCheck(kube: Kube, lease: LeaseRef, clock: LimiterClock): Check {
  return {
    name: 'karpenter',
    needs: ['kubernetes'],
    unanswered: unread,
    run: async () => {
      const holder = await leaseHolder({ client: kube, ...lease, observeMs, clock });
      if (holder !== undefined) {
        return failed(
          `${holder} holds the lease ${lease.namespace}/${lease.name}: Stowage does nothing`,
          "scale Karpenter's Deployment to zero",
        );
      }
      const [deployment] = await deploymentsOf(kube, /karpenter/);
      if (deployment === undefined) return okCheck('does not run');
      const { namespace = '', name = '' } = deployment.metadata;
      const found = `Deployment ${namespace}/${name} runs`;
      if (namespace === lease.namespace) {
        return warning(
          `${found}, and does not hold its lease yet`,
          'scale it to zero: until then Stowage does nothing',
        );
      }
      return failed(
        `${found}, and its lease is looked for in ${lease.namespace}`,
        `scale it to zero, or set KARPENTER_LEADER_ELECTION_NAMESPACE=${namespace} and put the Role stowage-karpenter-lease of deploy/rbac.yaml there`,
      );
    },
  };
}

const clusterAutoscaler: LeaseRef = { namespace: 'kube-system', name: 'cluster-autoscaler' };

/** Whether Cluster Autoscaler runs: it may run too, for separate node groups. */
export function clusterAutoscalerCheck(kube: Kube, clock: LimiterClock): Check {
  return {
    name: 'cluster-autoscaler',
    needs: ['kubernetes'],
    unanswered: unread,
    run: async () => {
      const mend =
        'both launch for the same pending pods: scale it to zero, or keep their pods apart by labels and taints';
      const [deployment] = await deploymentsOf(kube, /cluster-autoscaler/);
      if (deployment !== undefined) {
        const { namespace = '', name = '' } = deployment.metadata;
        return warning(`Deployment ${namespace}/${name} runs`, mend);
      }
      const seen = await holderIfAllowed(kube, clock);
      if (seen === 'denied') return okCheck('no Deployment runs it; its lease may not be read');
      if (seen !== undefined) return warning(`${seen} holds the lease kube-system/cluster-autoscaler`, mend);
      return okCheck('does not run');
    },
  };
}

/** Stowage's ServiceAccount may only read Karpenter's lease: otherwise only Deployments are checked. */
async function holderIfAllowed(kube: Kube, clock: LimiterClock): Promise<string | undefined> {
  try {
    return await leaseHolder({ client: kube, ...clusterAutoscaler, observeMs, clock });
  } catch (error) {
    if (isDomainError(error, 'Denied')) return 'denied';
    throw error;
  }
}

/** Deployments with replicas and such an image. */
async function deploymentsOf(kube: Kube, image: RegExp): Promise<Workload[]> {
  const deployments = await kube.list('Deployment');
  return deployments.filter(
    ({ spec }) =>
      (spec.replicas ?? 1) > 0 && spec.template.spec.containers.some((each) => image.test(each.image ?? '')),
  );
}
