import { isTrue } from '../../../core/conditions.js';
import { selects } from '../../../core/labels.js';
import type { SimulatedCluster } from './world.js';
import { isDeleting } from '../../../core/names.js';

/** Who says how many pods of an app there are to be. */
interface Scaled {
  readonly app: string;
  readonly replicas: number;
}

/** The disruption controller: keeps the status of PodDisruptionBudgets, of which it knows `maxUnavailable` as a number. */
export class DisruptionController {
  constructor(
    private readonly cluster: Pick<SimulatedCluster, 'kube' | 'cache'>,
    private readonly sets: readonly Scaled[],
  ) {
    cluster.cache.on('Pod', ({ object }) => void this.count(object.metadata.labels?.['app'] ?? ''));
  }

  /** Protects an app: so many of its pods may be missing. */
  async protect(app: string, maxUnavailable: number): Promise<void> {
    this.cluster.kube.put('PodDisruptionBudget', {
      metadata: { name: app, namespace: 'default' },
      spec: { selector: { matchLabels: { app } }, maxUnavailable },
    });
    await this.count(app);
  }

  unprotect(app: string): void {
    this.cluster.kube.remove('PodDisruptionBudget', { name: app, namespace: 'default' });
  }

  private async count(app: string): Promise<void> {
    const { cache, kube } = this.cluster;
    const ref = { name: app, namespace: 'default' };
    const budget = await kube.get('PodDisruptionBudget', ref);
    if (budget?.spec.selector === undefined) return;
    const { selector, maxUnavailable } = budget.spec;
    const own = cache.all('Pod').filter(({ metadata }) => selects(selector, metadata.labels));
    const currentHealthy = own.filter((pod) => !isDeleting(pod) && isTrue(pod.status?.conditions, 'Ready')).length;
    const expectedPods = this.sets.find((set) => set.app === app)?.replicas ?? own.length;
    const desiredHealthy = Math.max(0, expectedPods - Number(maxUnavailable ?? 0));
    const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy);
    const status = { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed };
    await kube.patch('PodDisruptionBudget', ref, { status }, { subresource: 'status' });
  }
}
