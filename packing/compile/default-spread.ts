import type { LabelSelector, OwnerReference, Pod, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { selects } from '../../core/label-selector.js';
import { selectorKeys } from '../topology/selectors.js';
import { fullName, namespaceOf } from '../names.js';
import type { ClusterObjects, PackingSettings } from '../types.js';

/**
 * Spread for pods that ask for none (section 2.1): the selector is deduced, as kube-scheduler does, from the Services that
 * select the pod and the workload that owns it; a pod with neither gets no default.
 */
export class DefaultSpread {
  private readonly services: { namespace: string; selector: Record<string, string> }[] = [];
  private readonly owners = new Map<string, LabelSelector | undefined>();

  constructor(
    private readonly constraints: NonNullable<PackingSettings['defaultTopologySpread']>,
    objects: ClusterObjects,
  ) {
    if (constraints.length === 0) return;
    for (const { metadata, spec } of objects.services ?? []) {
      if (spec.selector === undefined || Object.keys(spec.selector).length === 0) continue;
      this.services.push({ namespace: namespaceOf({ metadata }), selector: spec.selector });
    }
    for (const [kind, workloads] of [
      ['ReplicaSet', objects.replicaSets],
      ['StatefulSet', objects.statefulSets],
    ] as const) {
      for (const { metadata, spec } of workloads ?? []) {
        this.owners.set(`${kind} ${fullName({ metadata })}`, spec.selector);
      }
    }
    for (const { metadata, spec } of objects.replicationControllers ?? []) {
      const selector = spec.selector === undefined ? undefined : { matchLabels: spec.selector };
      this.owners.set(`ReplicationController ${fullName({ metadata })}`, selector);
    }
  }

  /** Labels that deduced selectors read. */
  labelKeys(): Set<string> {
    const keys = new Set<string>();
    for (const { selector } of this.services) for (const key of Object.keys(selector)) keys.add(key);
    for (const selector of this.owners.values()) selectorKeys(selector, keys);
    return keys;
  }

  /** What tells pods apart in this respect: their owner. */
  text(pod: Pod): string {
    if (this.constraints.length === 0) return '';
    const owner = ownerOf(pod);
    return owner === undefined ? 'O' : `O${owner.kind}/${owner.name}`;
  }

  of(pod: Pod): readonly TopologySpreadConstraint[] {
    if (this.constraints.length === 0) return [];
    const labelSelector = this.selectorFor(pod);
    return labelSelector === undefined ? [] : this.constraints.map((constraint) => ({ ...constraint, labelSelector }));
  }

  private selectorFor(pod: Pod): LabelSelector | undefined {
    const namespace = namespaceOf(pod);
    const matchLabels: Record<string, string> = {};
    for (const service of this.services) {
      if (service.namespace !== namespace || !selects({ matchLabels: service.selector }, pod.metadata.labels)) continue;
      Object.assign(matchLabels, service.selector);
    }
    const owner = ownerOf(pod);
    const selector = owner === undefined ? undefined : this.owners.get(`${owner.kind} ${namespace}/${owner.name}`);
    Object.assign(matchLabels, selector?.matchLabels);
    const matchExpressions = selector?.matchExpressions ?? [];
    if (Object.keys(matchLabels).length + matchExpressions.length === 0) return undefined;
    return { matchLabels, ...(matchExpressions.length > 0 ? { matchExpressions } : {}) };
  }
}

const ownerOf = ({ metadata }: Pod): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true) ?? metadata.ownerReferences?.[0];
