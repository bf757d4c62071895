import { annotations, labels } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { Node, Pod } from '../../../api/kubernetes.js';
import { isTrue } from '../../../core/conditions.js';
import { isUnassigned } from '../../../core/pods.js';
import { parseResources } from '../../../core/quantities.js';
import { podRequests, QuantityReader } from '../../../packing/compile/pod-requests.js';
import { hasRules } from '../scale-down/scheduling-rules.js';
import { isDisruptedByChoice, reasonOf } from './by-choice.js';
import type { SimulatedCluster } from './world.js';
import { fullName } from '../../../core/names.js';

const minuteMs = 60_000;
/** Pods that wait for less may be unknown to what decided; after ten minutes a scheduler that leaves them alone refuses them. */
const heardMs = 5 * minuteMs;
const waitedForMs = 9 * minuteMs;
/** Nodes that may be launched for the same pod within an hour, while no pod like it is bound. */
const mostLaunches = 5;
const launchesWithinMs = 60 * minuteMs;

/** Holds Stowage to pods that kube-scheduler is slow to bind, or never does: their room stays, and is not launched again and again. */
export class BacklogWatch {
  private readonly quantities = new QuantityReader();
  /** The pods that a NodeClaim was created for: later plans may move pods to it, and launch nothing. */
  private readonly launchedFor = new Map<string, string | undefined>();
  /** When nodes were launched for a pod, by its name, since one like it was bound last. */
  private readonly launches = new Map<string, number[]>();

  constructor(
    private readonly cluster: Pick<SimulatedCluster, 'cache' | 'scheduler'>,
    private readonly broken: (problem: string) => void,
    private readonly heard = heardMs,
  ) {
    cluster.cache.on('NodeClaim', ({ type, object, previous }) => {
      const isNew = isDisruptedByChoice(object) && (previous === undefined || !isDisruptedByChoice(previous));
      if (type !== 'deleted' && isNew) this.expectRoom(object);
      if (type === 'added')
        this.launchedFor.set(fullName(object), object.metadata.annotations?.[annotations.plannedPods]);
      if (isInitialized(object) && (previous === undefined || !isInitialized(previous))) this.noteLaunch(object);
    });
    cluster.cache.on('Pod', ({ object }) => {
      if ((object.spec.nodeName ?? '') !== '') this.noteBound(object);
    });
  }

  /** The node is not needed for pods that wait and that it has room for (consolidation/room-of-pending-pods). */
  private expectRoom(claim: NodeClaim): void {
    const reason = reasonOf(claim);
    if (reason !== 'Empty' && reason !== 'Underutilized') return;
    const { cache } = this.cluster;
    const going = claim.status?.nodeName ?? '';
    const node = cache.get('Node', { name: going });
    if (node === undefined) return;
    const others = cache
      .all('Node')
      .filter((each) => each !== node && isOpen(each))
      .map((each) => this.roomOn(each));
    const own = this.roomOn(node);
    const homeless = this.waiting().filter((pod) => !others.some((room) => this.take(room, pod)));
    const held = homeless.filter((pod) => this.take(own, pod));
    if (held.length === 0) return;
    const names = held.map(fullName).join(', ');
    this.broken(
      `node ${going} is disrupted for ${reason}, while it alone has room for ${names} (consolidation/room-of-pending-pods)`,
    );
  }

  private waiting(): readonly Pod[] {
    const isKnown = ({ metadata }: Pod): boolean => {
      const ageMs = Date.now() - Date.parse(metadata.creationTimestamp ?? '');
      return ageMs >= this.heard && ageMs < waitedForMs;
    };
    const { cache, scheduler } = this.cluster;
    // No node is kept for pods that kube-scheduler refuses (provisioning/refused-pods).
    return cache
      .all('Pod')
      .filter((pod) => isUnassigned(pod) && isKnown(pod) && !hasRules(pod) && !scheduler.refusesEverywhere(pod));
  }

  private roomOn({ metadata, status }: Node): Map<string, number> {
    const free = new Map(Object.entries(parseResources(status?.allocatable)));
    for (const pod of this.cluster.cache.podsOnNode(metadata.name ?? '')) this.take(free, pod, true);
    return free;
  }

  private take(free: Map<string, number>, pod: Pod, isThere = false): boolean {
    const amounts = [...podRequests(pod.spec, this.quantities), ['pods', 1] as const];
    if (!isThere && amounts.some(([name, amount]) => (free.get(name) ?? 0) < amount)) return false;
    for (const [name, amount] of amounts) free.set(name, (free.get(name) ?? 0) - amount);
    return true;
  }

  /** A node is ready for pods: none of them has had too many in vain (provisioning/refused-pods). */
  private noteLaunch(claim: NodeClaim): void {
    const now = Date.now();
    for (const key of (this.launchedFor.get(fullName(claim)) ?? '').split(',').filter(Boolean)) {
      const [namespace = '', name = ''] = key.split('/');
      const pod = this.cluster.cache.get('Pod', { namespace, name });
      if (pod === undefined || !isUnassigned(pod)) continue;
      const lately = [...(this.launches.get(key) ?? []).filter((at) => now - at < launchesWithinMs), now];
      this.launches.set(key, lately);
      if (lately.length > mostLaunches)
        this.broken(
          `${lately.length} nodes were launched for pod ${key} within an hour, and it is bound to none (provisioning/refused-pods)`,
        );
    }
  }

  private noteBound({ metadata }: Pod): void {
    this.launches.delete(fullName({ metadata }));
  }
}

const isInitialized = ({ status }: NodeClaim): boolean => isTrue(status?.conditions, 'Initialized');

const isOpen = ({ metadata, spec, status }: Node): boolean =>
  metadata.deletionTimestamp === undefined &&
  metadata.labels?.[labels.nodePool] !== undefined &&
  spec?.unschedulable !== true &&
  !spec?.taints?.some(({ effect }) => effect !== 'PreferNoSchedule') &&
  isTrue(status?.conditions, 'Ready');
