import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import { workflowIds } from '../../core/ids.js';
import { messageOf } from '../../core/error-message.js';
import {
  clusterChangedSignal,
  explainQuery,
  phaseQuery,
  podsPendingSignal,
  rejectUpdate,
} from '../../workflows/messages.js';
import { apply } from '../live/kubectl.js';
import { createNodeClass, createNodePool, deploy, nodeOf } from '../live/world.js';
import { containment, instanceOf, large } from './containment.js';

// Runs are so short here that every workflow continues as new after a few steps and few signals: what was signalled to one run
// holds in the next ones.

const longestRun = 60;
const mostSignals = 150;

const on = containment(
  'short-runs',
  async (world) => {
    await createNodeClass(world, 'default');
    await allow(['r5.2xlarge'], world);
  },
  {
    temporalSettings: {
      'limit.historyCount.suggestContinueAsNew': longestRun,
      'history.maximumSignalsPerExecution': mostSignals,
    },
  },
);

/** A pool of these instance types alone. */
async function allow(values: readonly string[], world = on.world): Promise<void> {
  const requirements = [
    { key: labels.capacityType, operator: 'In', values: ['on-demand'] },
    { key: labels.instanceType, operator: 'In', values },
  ];
  await createNodePool(world, 'default', {
    template: { requirements },
    spec: { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } },
  });
}

interface Signals {
  readonly workflowId: string;
  readonly send: () => Promise<void>;
}

/** Signals one after the other, several at once and without a pause, until it holds. Gives how many were refused, and why. */
async function flood(
  { workflowId, send }: Signals,
  holds: () => Promise<boolean>,
): Promise<ReadonlyMap<string, number>> {
  const refused = new Map<string, number>();
  let isOver = false;
  const sending = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      await send().catch((error: unknown) => {
        const why = messageOf(error instanceof Error ? (error.cause ?? error) : error);
        refused.set(why, (refused.get(why) ?? 0) + 1);
      });
    }
  });
  try {
    await on.until(`What is awaited while ${workflowId} is flooded`, holds, 240);
  } finally {
    isOver = true;
    await Promise.all(sending);
  }
  return refused;
}

/** Ids of the runs that were seen. */
function runsOf(workflowId: string): { look(): Promise<number> } {
  const seen = new Set<string>();
  return {
    look: async () => {
      seen.add((await on.workflow(workflowId).describe()).runId);
      return seen.size;
    },
  };
}

const provision = (): Signals => {
  const workflowId = workflowIds.provision(on.cluster);
  return { workflowId, send: () => on.workflow(workflowId).signal(podsPendingSignal) };
};

describe('signals that arrive without end', () => {
  test('make provision continue as new, not fail: pods get their nodes meanwhile', async () => {
    await deploy(on.world, 'first', large);
    await on.runs('first');
    await deploy(on.world, 'meanwhile', large);
    const { workflowId } = provision();
    const runs = runsOf(workflowId);
    const goesOn = async (): Promise<boolean> => (await runs.look()) > 3 && (await nodeOf(on.world, 'meanwhile')) !== undefined; // prettier-ignore
    await flood(provision(), goesOn);
  });

  test('up to the limit of a run while no worker is there: no pod is lost', async () => {
    await on.world.stack.stopComponent('stowage');
    await deploy(on.world, 'late', large);
    let full = false;
    const { workflowId, send } = provision();
    const untilFull = async (): Promise<void> =>
      send().catch((error: unknown) => {
        full ||= String(error instanceof Error ? error.cause : error).includes('limit for signal events');
        throw error;
      });
    await flood({ workflowId, send: untilFull }, () => Promise.resolve(full));
    const { runId } = await on.workflow(workflowId).describe();

    await on.world.stack.startComponent('stowage');
    await on.runs('late');
    expect((await on.workflow(workflowId).describe()).runId).not.toBe(runId);
  });
});

describe('orders of a person, kept over continue-as-new', () => {
  // Rule `invariants/protection-holds`.
  test('a rejected Force step stays rejected in later runs after its time, and pods leave once their budget allows', async () => {
    const { kube, stack } = on.world;
    const steps = [
      { after: '3s', action: 'AskApproval' },
      { after: '30s', action: 'Force' },
    ];
    await apply(stack, [
      { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'rules' }, spec: { drainEscalation: steps } },
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'first', namespace: 'default' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'first' } } },
      },
    ]); // prettier-ignore
    const claim = await on.claimUnder('first');
    const { name = '', uid = '' } = claim.metadata;
    await kube.delete('NodeClaim', { name });
    const workflowId = workflowIds.terminate(on.cluster, uid);
    const termination = on.workflow(workflowId);
    const facts = async () => (await termination.query(explainQuery)).facts;
    const signals = { workflowId, send: () => termination.signal('nothingThatItKnows') };
    const runs = runsOf(workflowId);
    const isAsked = async (): Promise<boolean> => 'question' in (await facts());
    await on.until('The question', () => isAsked().catch(() => false), 120);
    const due = Date.parse(/^Force at (\S+)$/.exec(String((await facts())['next step']))?.[1] ?? '');
    expect(due).toBeGreaterThan(0);
    await flood(signals, async () => (await runs.look()) > 1);
    // It is asked again in each run.
    const isRejected = (): Promise<boolean> =>
      termination
        .executeUpdate(rejectUpdate, { args: [{ actor: 'ann', reason: 'release' }] })
        .then(() => true)
        .catch(() => false);
    await on.until('The no taken', isRejected, 60);

    const before = await runs.look();
    await flood(signals, async () => (await runs.look()) > before + 1 && Date.now() > due);
    const last = await runs.look();
    await flood(signals, async () => (await runs.look()) > last);
    expect((await facts())['next step'] ?? 'none').toBe('none');
    const live = await kube.get('NodeClaim', { name });
    expect(live?.metadata.annotations?.[annotations.terminationTimestamp]).toBeUndefined();
    expect(await nodeOf(on.world, 'first')).toBe(claim.status?.nodeName);

    await kube.delete('PodDisruptionBudget', { namespace: 'default', name: 'first' });
    await on.runs('first', claim.status?.nodeName);
    await expect(termination.result()).resolves.not.toHaveProperty('forcedBy');
    await kube.delete('DisruptionPolicy', { name: 'rules' });
  });

  // Rule `invariants/pauses-hold`.
  test('a pause given while disrupt continues as new holds the consolidation in each run, which goes on after it', async () => {
    const { kube, stack } = on.world;
    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    for (const app of ['first', 'meanwhile', 'late'])
      await kube.delete('Deployment', { name: app, namespace: 'default' });
    const alone = async (): Promise<boolean> => (await on.claims()).length === 1;
    await on.until('The other nodes gone', alone, 180);
    const node = await on.runs('web');

    stack.freeze('node-joiner', true);
    await allow(['r5.2xlarge', 'c5.large']);
    await on.claim('of the replacement', (each) => each.status?.nodeName !== node && instanceOf(each) !== '', 180);
    const workflowId = workflowIds.disrupt(on.cluster);
    // A run of disrupt still lists commands that ended in the run before, until its next search.
    const owners = (await on.claims()).map(({ metadata }) => metadata.annotations?.[annotations.disruptionOwner]);
    const move = on.workflow(owners.find((id) => id !== undefined) ?? '');
    const signals = { workflowId, send: () => on.workflow(workflowId).signal(clusterChangedSignal) };
    const runs = runsOf(workflowId);
    await flood(signals, async () => (await runs.look()) > 1);
    await kube.create('DisruptionPause', {
      metadata: { name: 'release-day' },
      spec: { scope: { kind: 'Cluster' }, message: 'release day' },
    });
    const isHeld = async (): Promise<boolean> => (await move.query(phaseQuery)) === 'waiting for its turn';
    await flood(signals, isHeld);
    const before = await runs.look();
    await flood(signals, async () => (await runs.look()) > before + 1);
    expect(await isHeld()).toBe(true);
    stack.freeze('node-joiner', false);
    expect(await nodeOf(on.world, 'web')).toBe(node);

    await kube.delete('DisruptionPause', { name: 'release-day' });
    await flood(signals, async () => !(await isHeld()));
    await on.runs('web', node);
  });
});
