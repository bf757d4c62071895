import { timestamp } from '../../core/conditions.js';
import { Bell } from './clock.js';
import { latencies } from './latencies.js';
import type { World } from './world.js';

/** KWOK in place of kubelets: bound pods come to run one after the other, which lags behind where many are bound at once. */
export class Kubelets {
  private readonly queue: { readonly namespace: string; readonly name: string }[] = [];
  private readonly work = new Bell();

  constructor(private readonly world: World) {
    world.cache.on('Pod', ({ type, object: { metadata, spec }, previous }) => {
      if (type !== 'modified' || (spec.nodeName ?? '') === '' || (previous?.spec.nodeName ?? '') !== '') return;
      this.queue.push({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
      this.work.ring();
    });
  }

  async follow(): Promise<never> {
    const { clock, kube } = this.world;
    for (;;) {
      await this.work.next();
      const pod = this.queue.shift();
      if (pod === undefined) {
        this.work.hush();
        continue;
      }
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
