import { messageOf } from '../core/error-message.js';
import { isDomainError } from '../core/failures.js';
import type { KubeClient } from '../kube/port.js';

/** Lists objects; of a kind that cannot be listed it gives none, and the report says so. */
export type StatusKube = Pick<KubeClient, 'list'>;

/** Reads what may be refused to whoever asks: what could not be read is told, never taken for nothing. */
export class StatusReading {
  private readonly failures = new Map<string, string>();

  /** One line for each thing that could not be read. */
  get unread(): readonly string[] {
    return [...this.failures].map(([what, why]) => `${what}: ${why}`);
  }

  /** What `read` gives, or `otherwise` where it fails. */
  async or<T>(what: string, read: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await read;
    } catch (error) {
      this.addUnread(what, messageOf(error));
      return otherwise;
    }
  }

  /** That something could not be read. */
  addUnread(what: string, why: string): void {
    this.failures.set(what, why);
  }

  /**
   * Of what may not be listed there is nothing, which is noted; an API server that is away is no such case. The kinds of a
   * cloud that is not used are not installed: of them there is nothing to tell.
   */
  kube(kube: StatusKube): StatusKube {
    const list: StatusKube['list'] = async (kind, options) => {
      try {
        return await kube.list(kind, options);
      } catch (error) {
        const isOptional = kind !== 'NodePool' && kind !== 'NodeClaim';
        if (isDomainError(error, 'NotFound') && isOptional) return [];
        if (!isDomainError(error, 'Denied') && !isDomainError(error, 'NotFound')) throw error;
        this.addUnread(`${kind}s`, messageOf(error));
        return [];
      }
    };
    return { list };
  }
}
