import type { Pod, ResourceList } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import { parseResources } from '../../core/quantities.js';
import { graceOf, podKey } from '../../core/pods.js';
import { podRequests, QuantityReader } from '../../packing/compile/pod-requests.js';
import { lookUp } from '../../core/own.js';

/**
 * The order in which the pods of a node are evicted. Whoever needs the longest begins first: where a budget lets pods go one by
 * one, that ends the soonest. Of equal grace those that ask for most of the node: what comes in their place finds room while
 * there still is some, and smaller pods fill what they leave.
 */
export class EvictionOrder {
  private readonly quantities = new QuantityReader();
  private readonly shares = new Map<string, number>();

  sort(pods: readonly Pod[], allocatable: ResourceList | undefined): Pod[] {
    const whole = parseResources(allocatable);
    return [...pods].sort(
      (a, b) =>
        graceOf(b) - graceOf(a) || this.shareOf(b, whole) - this.shareOf(a, whole) || compareText(podKey(a), podKey(b)),
    );
  }

  /** The largest share of any of the node's resources that the pod requests. */
  private shareOf({ metadata, spec }: Pod, whole: Readonly<Record<string, number>>): number {
    const uid = metadata.uid ?? '';
    let share = this.shares.get(uid);
    if (share === undefined) {
      share = 0;
      for (const [name, amount] of podRequests(spec, this.quantities)) {
        const there = lookUp(whole, name) ?? 0;
        if (there > 0) share = Math.max(share, amount / there);
      }
      this.shares.set(uid, share);
    }
    return share;
  }
}
