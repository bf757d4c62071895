import { messageOf } from '../../core/error-message.js';
import { isTrue } from '../../core/conditions.js';
import type { ActivityDeps } from '../deps.js';

/**
 * Whether a node has lost its instance (termination/lost-instance): it is not Ready, and the cloud no longer knows the
 * instance. Without an answer of the cloud the instance counts as existing.
 */
export async function instanceIsGone(
  { cache, cloud, log }: Pick<ActivityDeps, 'cache' | 'cloud' | 'log'>,
  nodeName: string,
): Promise<boolean> {
  const node = cache.get('Node', { name: nodeName });
  const providerId = node?.spec?.providerID;
  if (providerId === undefined || isTrue(node?.status?.conditions, 'Ready')) return false;
  try {
    return (await cloud.get(providerId)) === undefined;
  } catch (error) {
    log.debug({ node: nodeName, error: messageOf(error) }, 'cannot find out whether the instance is gone');
    return false;
  }
}
