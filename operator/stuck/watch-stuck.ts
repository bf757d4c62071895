import { whyUnobserved, type ObservedEngine, type ObservedWorkflow } from './observed.js';
import { managedPools } from '../../cluster/cluster.js';
import { lacksNode } from '../../cluster/awaited-nodes.js';
import { workflowIds } from '../../core/ids.js';
import type { OperatorContext } from '../context.js';
import { WorkQueue } from '../work-queue.js';
import { findStuck, planningFinding, stuckKinds, type Finding } from './findings.js';
import { regarding } from '../../core/events.js';
import type { LeaderLoops } from './leader-loops.js';
import { fullName } from '../../core/names.js';

/** Problems are reported within a minute, even if one poll fails or takes long. */
const everyMs = 20_000;
/** Pods get an event only after planning has been stuck for this long. */
const publishedAfterMs = 30_000;
const mostPods = 100;
const podDedupeMs = 300_000;
/** Workers of two builds may take turns meanwhile. */
const divergedForMs = 60_000;

type Context = Pick<
  OperatorContext,
  'cluster' | 'cache' | 'cloud' | 'events' | 'log' | 'metrics' | 'now' | 'nominationMs'
>;

/** Checks for stuck work, and reports it: once in the log, in metrics, and as events of the pods that wait for it. */
export class StuckWatch {
  /** By key: when a finding was first made, milliseconds since the epoch. */
  private readonly firstSeen = new Map<string, number>();
  private findings: readonly Finding[] = [];
  /** Keys of all findings of the last check. */
  private foundBefore: ReadonlySet<string> = new Set();
  private hasEnded = false;
  private readonly planningListeners = new Set<() => void>();
  /** The value of `planning` last reported to listeners. */
  private reported: string | undefined;

  constructor(
    private readonly context: Context,
    private readonly observe: () => Promise<ObservedEngine>,
    private readonly loops: Pick<LeaderLoops, 'all'> = { all: [] },
    private readonly terminate: (workflowId: string, why: string) => Promise<void> = () => Promise.resolve(),
  ) {}

  /** What prevents planning of nodes, once it has lasted; shown in a condition of NodePools. */
  get planning(): Finding | undefined {
    const found = planningFinding(this.findings, workflowIds.provision(this.context.cluster));
    return found !== undefined && this.ageOf(found) >= publishedAfterMs ? found : undefined;
  }

  /** Calls `then` whenever `planning` changes. Returns a function that unsubscribes. */
  onPlanning(then: () => void): () => void {
    this.planningListeners.add(then);
    return () => void this.planningListeners.delete(then);
  }

  async check(): Promise<void> {
    const { cache, now } = this.context;
    const answer = await this.observe().then(
      (engine) => ({ engine }),
      (error: unknown) => ({ engine: undefined, unreachable: whyUnobserved(error) }),
    );
    if (this.hasEnded) return;
    const loops = this.loops.all;
    const found = findStuck({
      now: now(),
      ...answer,
      loops,
      pods: cache.all('Pod'),
      pools: managedPools(this.context),
    });
    this.take(this.lasting(found));
    await this.endDiverged(answer.engine?.workflows ?? []);
  }

  /**
   * Terminates workflows that cannot go on from their history, as after a restore of Temporal or a rollback. What the
   * cluster asks for is started again within two minutes (invariants/rebuilt).
   */
  private async endDiverged(workflows: readonly ObservedWorkflow[]): Promise<void> {
    const { log, now } = this.context;
    for (const { workflowId, task } of workflows) {
      if (task?.isDiverged !== true || now() - (task.failingSince ?? now()) < divergedForMs) continue;
      log.warn({ workflowId, why: task.failure }, 'a workflow cannot go on from its history: terminated');
      await this.terminate(workflowId, `it cannot go on from its history: ${task.failure ?? ''}`);
    }
  }

  /**
   * Drops queues without a poll since the last check: workers that start together with the operator poll before the
   * next check.
   */
  private lasting(found: readonly Finding[]): readonly Finding[] {
    const before = this.foundBefore;
    this.foundBefore = new Set(found.map(keyOf));
    return found.filter(
      (finding) => finding.kind !== 'queue' || finding.since !== undefined || before.has(keyOf(finding)),
    );
  }

  /** Stops reporting: another replica leads, or the operator stopped. */
  end(): void {
    this.hasEnded = true;
    this.findings = [];
    this.firstSeen.clear();
    this.measure();
  }

  private take(findings: readonly Finding[]): void {
    this.publishChanges(findings);
    this.findings = findings;
    this.measure();
    this.publishOnPods();
    this.reportPlanning();
  }

  private reportPlanning(): void {
    const { planning } = this;
    const found = planning === undefined ? undefined : `${keyOf(planning)} ${planning.why}`;
    if (found === this.reported) return;
    this.reported = found;
    for (const then of this.planningListeners) then();
  }

  private publishChanges(findings: readonly Finding[]): void {
    const { log, now } = this.context;
    const keys = new Set(findings.map(keyOf));
    for (const finding of findings) {
      if (this.firstSeen.has(keyOf(finding))) continue;
      this.firstSeen.set(keyOf(finding), now());
      log.warn({ ...facts(finding), since: new Date(this.since(finding)).toISOString() }, 'stuck');
    }
    for (const gone of this.findings.filter((before) => !keys.has(keyOf(before)))) {
      this.firstSeen.delete(keyOf(gone));
      log.info(facts(gone), 'no longer stuck');
    }
  }

  private measure(): void {
    const { metrics } = this.context;
    for (const kind of stuckKinds) {
      const ages = this.findings.filter((finding) => finding.kind === kind).map((finding) => this.ageOf(finding));
      metrics.set('stowage_stuck', { kind }, ages.length);
      metrics.set('stowage_stuck_oldest_seconds', { kind }, Math.max(0, ...ages) / 1000);
    }
  }

  private publishOnPods(): void {
    const { planning } = this;
    if (planning === undefined) return;
    const { cache, events } = this.context;
    const waiting = cache.all('Pod').filter((pod) => lacksNode(this.context, pod));
    for (const pod of waiting.slice(0, mostPods)) {
      events.publish({
        regarding: regarding('Pod', pod.metadata),
        type: 'Warning',
        reason: 'FailedScheduling',
        message: `Stowage cannot plan a node for the pod now: ${planning.subject}: ${planning.why}`,
        dedupeBy: [fullName(pod), 'stuck'],
        dedupeMs: podDedupeMs,
      });
    }
  }

  private ageOf(finding: Finding): number {
    return this.context.now() - this.since(finding);
  }

  private since(finding: Finding): number {
    return finding.since ?? this.firstSeen.get(keyOf(finding)) ?? this.context.now();
  }
}

/** Findings that differ only in their text are the same. */
const keyOf = ({ kind, subject }: Finding): string => `${kind} ${subject}`;

const facts = ({ kind, subject, why }: Finding): object => ({ kind, subject, why });

/** Runs `watch` now and every 20 s. */
export function watchStuck({ log }: Pick<OperatorContext, 'log'>, watch: StuckWatch): () => void {
  const looks = new WorkQueue('looking for what is stuck', () => check(watch), log, 1);
  looks.add('all');
  return () => {
    looks.stop();
    watch.end();
  };
}

async function check(watch: StuckWatch): Promise<{ afterMs: number }> {
  await watch.check();
  return { afterMs: everyMs };
}
