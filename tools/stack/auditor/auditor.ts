import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { Judge } from '../../../test/checker/audit/judge.js';
import { createClusterCache } from '../../../kube/cache.js';
import type { KubeClient } from '../../../kube/port.js';
import type { CloudProxyControl } from '../cloud-proxy/control.js';
import { observe } from '../demo/observe.js';
import { auditLogOf } from '../kubernetes.js';
import { AuditLog } from './audit-log.js';
import { unrestOf } from './rest.js';
import { unexplained, workflowProblems } from './workflows.js';

/** What the auditor looks at: a running stack, by its administrator's clients. */
export interface Audited {
  readonly stack: { readonly folder: string; readonly cluster: string; readonly temporalAddress?: string };
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
}

const lookMs = 500;

/**
 * Watches a stack for as long as things happen to it, by Kubernetes (its watches and its audit log), EC2 and Temporal alone,
 * and holds it to docs/behaviour/invariants.md.
 */
export class Auditor {
  private readonly judge = new Judge();
  private readonly stopping = new AbortController();
  private looking: Promise<void> = Promise.resolve();
  private readonly log: AuditLog;

  constructor(private readonly audited: Audited) {
    this.log = new AuditLog(auditLogOf(audited.stack.folder));
  }

  /** What went against an invariant so far. */
  get problems(): readonly string[] {
    return this.judge.problems;
  }

  async start(): Promise<void> {
    const { judge } = this;
    const { signal } = this.stopping;
    const cache = createClusterCache({
      client: this.audited.kube,
      kinds: ['NodePool', 'NodeClaim', 'Pod', 'PodDisruptionBudget'],
    });
    cache.on('NodePool', ({ object }) => judge.pool(object));
    cache.on('Pod', ({ object }) => judge.pod(object));
    cache.on('PodDisruptionBudget', ({ object, type }) => judge.podDisruptionBudget(object, type === 'deleted'));
    cache.on('NodeClaim', ({ object, type }) => judge.claim(object, type === 'deleted', Date.now()));
    await cache.start(signal);
    this.looking = this.look(signal);
  }

  /** Resolves when nothing is half done any more; rejects with what still is. */
  async untilRest(withinMs: number, failure?: () => Error | undefined): Promise<void> {
    const { kube, cloud } = this.audited;
    const unrest = (): Promise<string | undefined> => unrestOf(kube, cloud).catch((error: unknown) => String(error));
    await observe(
      'A cluster at rest (invariants/eventually-stable)',
      async () => (await unrest()) === undefined,
      { withinMs, ...(failure === undefined ? {} : { failure }) },
      async () => (await unrest()) ?? 'at rest',
    );
  }

  /** Stops watching, and gives everything that went against an invariant, what workflows came to included. */
  async verdict(): Promise<readonly string[]> {
    const { cluster, temporalAddress = '' } = this.audited.stack;
    await this.stop();
    const connection = await Connection.connect({ address: temporalAddress });
    try {
      return [
        ...this.judge.problems,
        ...(await workflowProblems(connection, cluster)),
        ...(await unexplained(connection, cluster, this.judge.goneClaims)),
      ];
    } finally {
      await connection.close();
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.looking;
  }

  private async look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const request of this.log.next()) this.judge.request(request);
      const askedAt = Date.now();
      // The cloud is not always there: the next look sees what this one missed.
      const instances = await this.audited.cloud.instances().catch(() => []);
      this.judge.instances(instances, askedAt);
      await sleep(lookMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
