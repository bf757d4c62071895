import { timestamp } from '../../../core/conditions.js';
import { Inbox } from './clock.js';
import { latencies } from './latencies.js';
import type { ClusterParts } from './world.js';

/** KWOK in place of kubelets: bound pods come to run one after the other, which lags behind where many are bound at once. */
export class Kubelets {
  private readonly bound = new Inbox<{ readonly namespace: string; readonly name: string }>();

  constructor(private readonly world: ClusterParts) {
    world.cache.on('Pod', ({ type, object: { metadata, spec }, previous }) => {
      if (type !== 'modified' || (spec.nodeName ?? '') === '' || (previous?.spec.nodeName ?? '') !== '') return;
      this.bound.add({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
    });
  }

  async follow(): Promise<never> {
    const { clock, kube } = this.world;
    for (;;) {
      const pod = await this.bound.next();
      await clock.sleep(latencies.runMs);
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(clock.now) }];
      await kube.patch(
        'Pod',
        pod,
        { status: { phase: 'Running', conditions, nominatedNodeName: null } },
        { subresource: 'status' },
      );
    }
  }
}
