import { isTrue } from '../core/conditions.js';
import type { ActivityDeps } from './deps.js';

const askEveryMs = 10_000;

/** Whether a node has lost its instance (section 4.14): it is not Ready, and the cloud knows the instance no longer. */
export class InstanceWatch {
  private askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly deps: Pick<ActivityDeps, 'cache' | 'cloud' | 'now' | 'log'>,
    private readonly nodeName: string,
  ) {}

  /** Asks the cloud about a node that is not Ready, every ten seconds at most; no answer means that it is there. */
  async isGone(): Promise<boolean> {
    const { cache, cloud, now, log } = this.deps;
    const node = cache.get('Node', { name: this.nodeName });
    const providerId = node?.spec?.providerID;
    if (providerId === undefined || isTrue(node?.status?.conditions, 'Ready')) return false;
    if (now() - this.askedAt < askEveryMs) return false;
    this.askedAt = now();
    try {
      return (await cloud.get(providerId)) === undefined;
    } catch (error) {
      log.debug({ node: this.nodeName, error: String(error) }, 'cannot tell whether the instance is gone');
      return false;
    }
  }
}
