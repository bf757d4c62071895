import type { Pod } from '../../../api/kubernetes.js';
import type { Random } from '../../cases/random.js';
import { graceOf } from '../../../core/pods.js';
import type { ClusterCache } from '../../../kube/port.js';
import type { FakeKube } from '../kube/fake.js';
import { refOf } from '../kube/fake-storage.js';
import { fullName, isDeleting } from '../../../core/names.js';

export interface PodLivesParts {
  readonly kube: FakeKube;
  readonly cache: ClusterCache;
  readonly random: Random;
  /** Whether the kubelet of a node is away: it ends nothing. */
  readonly isAway: (nodeName: string) => boolean;
}

/** After this long a kubelet that was away is looked for again, milliseconds. */
const awayMs = 10_000;
/** How long the garbage collector leaves pods of a node that is gone, milliseconds. */
const collectMs = 20_000;

/** How pods end: kubelets stop those that are deleted, within their grace, and pods of a node that is gone are collected. */
export class PodLives {
  constructor(private readonly parts: PodLivesParts) {
    const { cache } = parts;
    cache.on('Pod', ({ type, object, previous }) => {
      const endsBy = object.metadata.deletionTimestamp;
      if (type !== 'deleted' && endsBy !== undefined && endsBy !== previous?.metadata.deletionTimestamp)
        this.stop(object);
    });
    cache.on('Node', ({ type, object }) => {
      if (type === 'deleted') setTimeout(() => this.collect(object.metadata.name ?? ''), collectMs);
    });
  }

  /** Most stop sooner than they must; some take all of the time that they are given. */
  private stop(pod: Pod): void {
    const { random } = this.parts;
    const leftMs = Math.max(0, Date.parse(pod.metadata.deletionTimestamp ?? '') - Date.now());
    const graceMs = Math.min(leftMs, graceOf(pod));
    setTimeout(() => this.finish(pod), random.chance(0.2) ? graceMs : random.int(0, graceMs));
  }

  private finish(pod: Pod): void {
    const { kube, isAway } = this.parts;
    const now = kube.kept('Pod').find((each) => fullName(each) === fullName(pod));
    if (now === undefined || now.metadata.uid !== pod.metadata.uid || !isDeleting(now)) return;
    if (isAway(pod.spec.nodeName ?? '')) setTimeout(() => this.finish(pod), awayMs);
    else kube.finishTermination(refOf(now));
  }

  private collect(nodeName: string): void {
    const { kube } = this.parts;
    if (kube.kept('Node').some(({ metadata }) => metadata.name === nodeName)) return;
    for (const pod of kube.kept('Pod')) if (pod.spec.nodeName === nodeName) kube.remove('Pod', refOf(pod));
  }
}
