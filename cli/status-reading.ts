import { messageOf } from '../core/error-message.js';
import { isDomainError } from '../core/failures.js';
import type { KubeClient } from '../kube/port.js';

/** Lists objects; a kind that cannot be listed gives an empty list, and the report says so. */
export type StatusKube = Pick<KubeClient, 'list'>;

/** What is unread while the API server does not respond. */
const allOfKubernetes = 'all that Kubernetes has';

/** Whether the unread lines include the NodePools. */
export const arePoolsUnread = (unread: readonly string[]): boolean =>
  [allOfKubernetes, 'NodePools'].some((what) => unread.some((line) => line.startsWith(`${what}: `)));

/** Reads data that may be denied to the caller: what could not be read is reported, never treated as empty. */
export class StatusReading {
  private readonly failures = new Map<string, string>();
  /** Whether the API server did not respond: it is not called again. */
  private isAway = false;

  /** One line for each item that could not be read. */
  get unread(): readonly string[] {
    return [...this.failures].map(([what, why]) => `${what}: ${why}`);
  }

  /** The result of `read`, or `otherwise` if it fails. */
  async or<T>(what: string, read: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await read;
    } catch (error) {
      if (!this.noteAway(error)) this.addUnread(what, messageOf(error));
      return otherwise;
    }
  }

  private noteAway(error: unknown): boolean {
    // An error response of the server, such as 503 for one kind, has a status.
    if (!isDomainError(error, 'Unavailable') || error.details['status'] !== undefined) return false;
    this.isAway = true;
    this.addUnread(allOfKubernetes, messageOf(error));
    return true;
  }

  /** Records that something could not be read. */
  addUnread(what: string, why: string): void {
    this.failures.set(what, why);
  }

  /**
   * Returns empty lists for kinds that cannot be listed, and records that. Kinds of unused clouds are not installed,
   * which is not recorded.
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
