import type { LabelSelector, Pod, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { selects } from '../../core/labels.js';
import { lookUp } from '../../core/own.js';
import { controllerOf, kindOf } from '../../core/owners.js';
import { selectorKeys } from './label-text.js';
import type { ClusterObjects, PackingSettings } from '../types.js';
import { namespaceOf, fullName } from '../../core/names.js';

/**
 * Default topology spread for pods without constraints (provisioning/default-spread). As in kube-scheduler, the selector is
 * deduced from the Services that select the pod and from the workload that owns it; a pod with neither has no default spread.
 */
export class DefaultSpread {
  private readonly services: { namespace: string; selector: Record<string, string> }[] = [];
  private readonly owners = new Map<string, Owner>();

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
      ['ReplicaSet.apps', objects.replicaSets],
      ['StatefulSet.apps', objects.statefulSets],
    ] as const) {
      for (const { metadata, spec } of workloads ?? []) {
        if (spec.selector !== undefined) this.owners.set(`${kind} ${fullName({ metadata })}`, new Owner(spec.selector));
      }
    }
    for (const { metadata, spec } of objects.replicationControllers ?? []) {
      if (spec.selector === undefined) continue;
      this.owners.set(
        `ReplicationController ${fullName({ metadata })}`,
        new Owner({ matchLabels: spec.selector }, true),
      );
    }
  }

  /** Label keys that the deduced selectors of these pods refer to. */
  labelKeys(pods: readonly Pod[]): Set<string> {
    const keys = new Set<string>();
    const concerned = pods.filter((pod) => this.concerns(pod));
    if (concerned.length === 0) return keys;
    for (const { selector } of this.services) for (const key of Object.keys(selector)) keys.add(key);
    for (const owner of new Set(concerned.map((pod) => this.ownerOf(pod)))) selectorKeys(owner?.selector, keys);
    return keys;
  }

  /** A key that distinguishes pods by their owner's selector; labels are compared elsewhere. */
  text(pod: Pod): string {
    return this.concerns(pod) ? (this.ownerOf(pod)?.text ?? '') : '';
  }

  of(pod: Pod): readonly TopologySpreadConstraint[] {
    if (!this.concerns(pod)) return [];
    const labelSelector = this.selectorFor(pod);
    return labelSelector === undefined ? [] : this.constraints.map((constraint) => ({ ...constraint, labelSelector }));
  }

  private concerns({ spec }: Pod): boolean {
    return this.constraints.length > 0 && (spec.topologySpreadConstraints ?? []).length === 0;
  }

  private ownerOf(pod: Pod): Owner | undefined {
    const owner = controllerOf(pod);
    return owner === undefined ? undefined : this.owners.get(`${kindOf(owner)} ${namespaceOf(pod)}/${owner.name}`);
  }

  private selectorFor(pod: Pod): LabelSelector | undefined {
    const namespace = namespaceOf(pod);
    const matchLabels: Record<string, string> = {};
    for (const service of this.services) {
      if (service.namespace !== namespace || !selects({ matchLabels: service.selector }, pod.metadata.labels)) continue;
      Object.assign(matchLabels, service.selector);
    }
    const owner = this.ownerOf(pod);
    const matchExpressions = [...(owner?.selector.matchExpressions ?? [])];
    for (const [key, value] of Object.entries(owner?.selector.matchLabels ?? {})) {
      const other = lookUp(matchLabels, key);
      // Two different values for one label: no pod can match both.
      if (other === undefined || other === value || owner?.replaces === true) matchLabels[key] = value;
      else matchExpressions.push({ key, operator: 'In', values: [value] });
    }
    if (Object.keys(matchLabels).length + matchExpressions.length === 0) return undefined;
    return { matchLabels, ...(matchExpressions.length > 0 ? { matchExpressions } : {}) };
  }
}

/**
 * The selector of a workload, and a key that is equal for equal selectors; `replaces`: it overrides Services for the
 * same label.
 */
class Owner {
  readonly text: string;

  constructor(
    readonly selector: LabelSelector,
    readonly replaces = false,
  ) {
    this.text = `${replaces ? 'R' : 'O'}${JSON.stringify(selector)}`;
  }
}
