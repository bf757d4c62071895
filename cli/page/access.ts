import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { KubeClient } from '../../kube/port.js';

/** What a caller of the page needs in the cluster: the page shows nodes, and names of pods of all namespaces. */
const rights = [
  { group: 'karpenter.sh', resource: 'nodepools', verb: 'list' },
  { group: '', resource: 'nodes', verb: 'list' },
  { group: '', resource: 'pods', verb: 'list' },
] as const;

/** How long an answer of the API server is used again for the same token. */
const keptMs = 60_000;
const mostKept = 1000;

type Access =
  { readonly allowed: true } | { readonly allowed: false; readonly status: 401 | 403; readonly why: string };

const allowed: Access = { allowed: true };

/**
 * Who may read the page: callers on loopback, which `kubectl port-forward` uses, and callers whose bearer token belongs
 * to a user who may list NodePools, nodes and pods.
 */
export class PageAccess {
  private readonly known = new Map<string, { readonly until: number; readonly access: Promise<Access> }>();

  constructor(
    private readonly kube: Pick<KubeClient, 'create'>,
    private readonly now: () => number,
  ) {}

  async of(request: IncomingMessage): Promise<Access> {
    const token = bearerOf(request);
    if (token !== undefined) return this.ofToken(token);
    if (isLoopback(request)) return allowed;
    return {
      allowed: false,
      status: 401,
      why: 'a bearer token is needed, or a connection by kubectl port-forward',
    };
  }

  private ofToken(token: string): Promise<Access> {
    const key = createHash('sha256').update(token).digest('base64');
    const now = this.now();
    const known = this.known.get(key);
    if (known !== undefined && known.until > now) return known.access;
    if (this.known.size >= mostKept) this.known.clear();
    const access = this.review(token);
    this.known.set(key, { until: now + keptMs, access });
    access.catch(() => this.known.delete(key));
    return access;
  }

  private async review(token: string): Promise<Access> {
    const { object } = await this.kube.create('TokenReview', { metadata: {}, spec: { token } });
    const { authenticated, user } = object.status ?? {};
    const name = user?.username ?? '';
    if (authenticated !== true || name === '') {
      return { allowed: false, status: 401, why: 'the API server does not accept the token' };
    }
    for (const right of rights) {
      const spec = { user: name, groups: user?.groups ?? [], resourceAttributes: right };
      const answer = await this.kube.create('SubjectAccessReview', { metadata: {}, spec });
      if (answer.object.status?.allowed !== true) {
        return { allowed: false, status: 403, why: `${name} may not ${right.verb} ${right.resource} of the cluster` };
      }
    }
    return allowed;
  }
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  const [, token] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  return token;
}

/**
 * Whether it comes from this machine and names it: the Host header of a page that another site made the browser open is
 * that site's.
 */
function isLoopback({ socket, headers }: IncomingMessage): boolean {
  const from = socket.remoteAddress ?? '';
  const isHere = from === '::1' || from.replace(/^::ffff:/, '').startsWith('127.');
  // A proxy in the same Pod connects from loopback for callers that are elsewhere.
  if (!isHere || headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i.test(headers.host ?? '');
}
