import { messageOf } from '../core/error-message.js';
import { isDomainError } from '../core/failures.js';
import type { KubeClient } from '../kube/port.js';

/** Lists objects; of a kind that cannot be listed it gives none, and the report says so. */
export type StatusKube = Pick<KubeClient, 'list'>;

/** What is unread while the API server gives no answer. */
const allOfKubernetes = 'all that Kubernetes has';

/** Whether these lines of what is unread cover the NodePools. */
export const arePoolsUnread = (unread: readonly string[]): boolean =>
  [allOfKubernetes, 'NodePools'].some((what) => unread.some((line) => line.startsWith(`${what}: `)));

/** Reads what may be refused to whoever asks: what could not be read is told, never taken for nothing. */
export class StatusReading {
  private readonly failures = new Map<string, string>();
  /** Whether the API server gave no answer: it is not asked again. */
  private isAway = false;

  /** One line for each thing that could not be read. */
  get unread(): readonly string[] {
    return [...this.failures].map(([what, why]) => `${what}: ${why}`);
  }

  /** What `read` gives, or `otherwise` where it fails. */
  async or<T>(what: string, read: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await read;
    } catch (error) {
      if (!this.noteAway(error)) this.addUnread(what, messageOf(error));
      return otherwise;
    }
  }

  private noteAway(error: unknown): boolean {
    // An answer of the server, such as 503 for one kind, has its status.
    if (!isDomainError(error, 'Unavailable') || error.details['status'] !== undefined) return false;
    this.isAway = true;
    this.addUnread(allOfKubernetes, messageOf(error));
    return true;
  }

  /** That something could not be read. */
  addUnread(what: string, why: string): void {
    this.failures.set(what, why);
  }

  /**
   * Of what cannot be listed there is nothing, which is noted. The kinds of a cloud that is not used are not installed: of them there is nothing
   * to tell.
   */
  kube(kube: StatusKube): StatusKube {
    const list: StatusKube['list'] = async (kind, options) => {
      if (this.isAway) return [];
      try {
        return await kube.list(kind, options);
      } catch (error) {
        const isOptional = kind !== 'NodePool' && kind !== 'NodeClaim';
        if (isDomainError(error, 'NotFound') && isOptional) return [];
        if (this.noteAway(error)) return [];
        const isKnown = (['Denied', 'NotFound', 'Unavailable'] as const).some((type) => isDomainError(error, type));
        if (!isKnown) throw error;
        this.addUnread(`${kind}s`, messageOf(error));
        return [];
      }
    };
    return { list };
  }
}
