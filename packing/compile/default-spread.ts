import type { LabelSelector, OwnerReference, Pod, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { selects } from '../../core/label-selector.js';
import { selectorKeys } from './selector-keys.js';
import { fullName, namespaceOf } from '../names.js';
import type { ClusterObjects, PackingSettings } from '../types.js';

/**
 * Spread for pods that ask for none (provisioning/default-spread): the selector is deduced, as kube-scheduler does, from the Services that
 * select the pod and the workload that owns it; a pod with neither gets no default.
 */
export class DefaultSpread {
  private readonly services: { namespace: string; selector: Record<string, string> }[] = [];
  private readonly owners = new Map<string, LabelSelector | undefined>();
  private readonly texts = new Map<LabelSelector, string>();

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

  /** Labels that selectors deduced for these pods read. */
  labelKeys(pods: readonly Pod[]): Set<string> {
    const keys = new Set<string>();
    const concerned = pods.filter((pod) => this.concerns(pod));
    if (concerned.length === 0) return keys;
    for (const { selector } of this.services) for (const key of Object.keys(selector)) keys.add(key);
    for (const selector of new Set(concerned.map((pod) => this.ownersSelector(pod)))) selectorKeys(selector, keys);
    return keys;
  }

  /** What tells pods apart in this respect, their labels apart: what their owner selects, if it says so. */
  text(pod: Pod): string {
    if (!this.concerns(pod)) return '';
    const selector = this.ownersSelector(pod);
    if (selector === undefined) return '';
    let text = this.texts.get(selector);
    if (text === undefined) this.texts.set(selector, (text = `O${JSON.stringify(selector)}`));
    return text;
  }

  of(pod: Pod): readonly TopologySpreadConstraint[] {
    if (!this.concerns(pod)) return [];
    const labelSelector = this.selectorFor(pod);
    return labelSelector === undefined ? [] : this.constraints.map((constraint) => ({ ...constraint, labelSelector }));
  }

  private concerns({ spec }: Pod): boolean {
    return this.constraints.length > 0 && (spec.topologySpreadConstraints ?? []).length === 0;
  }

  private ownersSelector(pod: Pod): LabelSelector | undefined {
    const owner = ownerOf(pod);
    return owner === undefined ? undefined : this.owners.get(`${owner.kind} ${namespaceOf(pod)}/${owner.name}`);
  }

  private selectorFor(pod: Pod): LabelSelector | undefined {
    const namespace = namespaceOf(pod);
    const matchLabels: Record<string, string> = {};
    for (const service of this.services) {
      if (service.namespace !== namespace || !selects({ matchLabels: service.selector }, pod.metadata.labels)) continue;
      Object.assign(matchLabels, service.selector);
    }
    const selector = this.ownersSelector(pod);
    Object.assign(matchLabels, selector?.matchLabels);
    const matchExpressions = selector?.matchExpressions ?? [];
    if (Object.keys(matchLabels).length + matchExpressions.length === 0) return undefined;
    return { matchLabels, ...(matchExpressions.length > 0 ? { matchExpressions } : {}) };
  }
}

const ownerOf = ({ metadata }: Pod): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true) ?? metadata.ownerReferences?.[0];
