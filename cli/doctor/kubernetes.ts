import type { Kinds, KubeClient } from '../../kube/port.js';
import { type Check, type CheckOutcome, failed, okCheck, someOf, warning } from './check.js';
import { isOlder, versionIn } from '../../core/versions.js';
import { crdManifests } from '../../api/crds.js';
import { isTrue } from '../../core/conditions.js';
import { lookUp } from '../../core/own.js';
import { counted } from '../../core/text.js';
import type { Workload } from '../../api/kubernetes.js';
import { isDomainError } from '../../core/failures.js';
import { failingLoop } from '../../operator/stuck/findings.js';
import { failingLoops } from '../../operator/stuck/leader-loops.js';
import { leaseHolder } from '../../kube/leases.js';
import type { LimiterClock } from '../../kube/limiter.js';
import { nameOf } from '../../core/names.js';
import type { NamespacedName } from '../../core/refs.js';

type Kube = Pick<KubeClient, 'get' | 'list'>;

/** Leaders renew their lease every two seconds. */
const observeMs = 3000;
const unread = 'see permissions: Leases and Deployments are read';

/** Whether an operator of Stowage leads, and none of its loops fails. */
export function operatorCheck(kube: Kube, lease: NamespacedName, clock: LimiterClock): Check {
  return {
    name: 'operator',
    needs: ['kubernetes'],
    unanswered: unread,
    run: async () => {
      const holder = await leaseHolder({ client: kube, ...lease, observeMs, clock });
      if (holder !== undefined) {
        const [failing] = failingLoops(await kube.get('Lease', lease)).map(failingLoop);
        if (failing === undefined) return okCheck(`${holder} leads`);
        return warning(`${holder} leads, and ${failing.subject}: ${failing.why}`, failing.then);
      }
      return failed(
        `no operator holds the lease ${lease.namespace}/${lease.name}`,
        'start an operator (stowage run --role operator), or see /readyz?verbose of those that run',
      );
    },
  };
}

/** Whether Karpenter runs: by its lease, or by a Deployment whose lease Stowage does not watch. */
export function karpenterCheck(kube: Kube, lease: NamespacedName, clock: LimiterClock): Check {
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

const clusterAutoscaler: NamespacedName = { namespace: 'kube-system', name: 'cluster-autoscaler' };

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

type Definition = Kinds['CustomResourceDefinition'];

/** Whether the cluster serves every kind of this version, with its schemas. */
export function definitionsCheck(kube: Pick<KubeClient, 'list'>): Check {
  return {
    name: 'definitions',
    needs: ['kubernetes'],
    unanswered: 'see permissions: CustomResourceDefinitions are read',
    run: async () => definitionsOutcome(await kube.list('CustomResourceDefinition')),
  };
}

const apply = 'run stowage crds --apply (helm upgrade does it)';

function definitionsOutcome(present: readonly Definition[]): CheckOutcome {
  const problems = crdManifests().flatMap((manifest) => {
    const name = nameOf(manifest);
    const found = present.find(({ metadata }) => metadata.name === name);
    if (found === undefined) return [`${name} is missing`];
    if (!isTrue(found.status?.conditions, 'Established')) return [`${name} is not established`];
    const path = firstDifference(manifest.spec, found.spec, 'spec');
    return path === undefined ? [] : [`${name} is not that of this version: ${path} differs`];
  });
  if (problems.length > 0) return failed(someOf(problems, 3), apply);
  return okCheck(`${counted(crdManifests().length, 'CustomResourceDefinition')} of this version`);
}

/**
 * The first path at which `found` differs from `wanted`; undefined if it has everything. Additional fields, for example
 * from the API server, and omitted empty values do not count.
 */
export function firstDifference(wanted: unknown, found: unknown, path: string): string | undefined {
  if (found === undefined) return isEmpty(wanted) ? undefined : path;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return path;
    return first(wanted, (each, i) => firstDifference(each, found[i], `${path}[${i}]`));
  }
  if (wanted !== null && typeof wanted === 'object') {
    if (found === null || typeof found !== 'object') return path;
    return first(Object.entries(wanted), ([key, value]) =>
      firstDifference(value, lookUp(found as Record<string, unknown>, key), `${path}.${key}`),
    );
  }
  return wanted === found ? undefined : path;
}

function first<T>(items: readonly T[], look: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = look(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false || value === 0 || value === '') return true;
  return typeof value === 'object' && (value === null || Object.values(value).every(isEmpty));
}

/** Same as kubeVersion of the chart. */
export const oldestKubernetes = '1.29.0';

/** Whether the API server responds and has a supported version. */
export function kubernetesCheck(kube: Pick<KubeClient, 'serverVersion'>): Check {
  return {
    name: 'kubernetes',
    unanswered: 'see KUBECONFIG (--kubeconfig), or in a pod its ServiceAccount and the NetworkPolicy',
    run: async () => kubernetesOutcome(await kube.serverVersion()),
  };
}

function kubernetesOutcome(version: string): CheckOutcome {
  const found = versionIn(version);
  if (found === undefined) return warning(`version ${version}, which cannot be compared`, 'see kubectl version');
  if (isOlder(found, oldestKubernetes)) {
    return failed(
      `version ${version}, older than ${oldestKubernetes}`,
      `upgrade the cluster to ${oldestKubernetes} or newer`,
    );
  }
  return okCheck(`version ${version}`);
}
