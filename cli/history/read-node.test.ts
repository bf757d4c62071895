import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import proto from '@temporalio/proto';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { parseWorkflowId } from '../../core/ids.js';
import { lookUp } from '../../core/own.js';
import { UsageError } from '../exit.js';
import { knownLife, lifeText } from '../history.js';
import { decodeHistory, type Engine, type Listed } from './engine.js';
import { lifeOf } from './life.js';
import { readNode, type Sources } from './read-node.js';
import type { RunRef, Step } from './records.js';
import { isDescribed } from './life-entries.js';

interface Recorded extends RunRef {
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step[];
}

/** Histories of a real server: of earlier builds (testdata), which have whole lives of nodes, and of this one (test/replay). */
function recorded(): readonly Recorded[] {
  const files = ['cli/history/testdata', 'test/replay/histories'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  return files
    .filter((file) => file.endsWith('.bin.gz'))
    .map((file) => {
      const bytes = gunzipSync(readFileSync(file));
      const { events } = proto.temporal.api.history.v1.History.decode(bytes);
      const started = events[0]?.workflowExecutionStartedEventAttributes;
      const steps = decodeHistory(events);
      const attributes = Object.assign(
        {},
        ...steps.map((step) => (step.is === 'attributes' ? step.values : {})),
      ) as object;
      return {
        workflowId: started?.workflowId ?? '',
        runId: started?.originalExecutionRunId ?? '',
        type: started?.workflowType?.name ?? '',
        attributes: { ...attributes },
        steps,
      };
    });
}

const all = recorded();

function holds({ type, attributes, steps }: Recorded, term: string): boolean {
  const [, key = '', value = ''] = /^(\w+) = '(.*)'$/.exec(term) ?? [];
  if (key === 'WorkflowType') return type === value;
  if (key === 'ExecutionStatus') return steps.at(-1)?.is === 'ended';
  return lookUp(attributes, key) === value;
}

/** The termination of the claim with the name of its Node, which earlier builds left out of the result. */
function terminatedAs(run: Recorded, claim: string, nodeName: string): Recorded {
  if (run.type !== 'terminateNode' || run.attributes['StowageNodeClaim'] !== claim) return run;
  const steps = run.steps.map((step) =>
    step.is === 'ended' && step.how === 'completed'
      ? { ...step, result: { ...(step.result as object), nodeName } }
      : step,
  );
  return { ...run, steps };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function engineOf(runs: readonly Recorded[]): Engine {
  const one = (run: RunRef): readonly Step[] => {
    const found = runs.find(({ runId, workflowId }) => runId === run.runId && workflowId === run.workflowId);
    if (found === undefined) throw new Error(`${run.workflowId} is not kept`);
    return found.steps;
  };
  return {
    list: async (query, most) =>
      Promise.resolve(
        runs
          .filter((run) => query.split(' AND ').every((term) => holds(run, term)))
          .sort((a, b) => (b.steps[0]?.at ?? 0) - (a.steps[0]?.at ?? 0))
          .slice(0, most)
          .map(({ workflowId, runId, attributes }): Listed => ({
            workflowId,
            runId,
            nodeClaim: text(attributes['StowageNodeClaim']),
            instanceId: text(attributes['StowageInstanceId']),
          })),
      ),
    steps: async (run) => Promise.resolve(one(run)),
    firstStep: async (run) => Promise.resolve(one(run)[0]),
    lastStep: async (run) => Promise.resolve(one(run).at(-1)),
    retentionMs: async () => Promise.resolve(3 * 24 * 3_600_000),
  };
}

function sources({ claims = [] as readonly NodeClaim[], runs = all } = {}): Sources {
  const kube = { list: async () => Promise.resolve(claims), get: async () => Promise.resolve(undefined) };
  return { engine: engineOf(runs), kube: kube as unknown as Sources['kube'], cluster: 'stowage-local', now: 0 };
}

describe('history of a node that is no longer in Kubernetes', () => {
  test.each([
    ['its NodeClaim', 'example-2969a53eff'],
    ['its Node', 'ip-172-31-32-10.us-west-2.compute.internal'],
    ['its instance', 'i-d92246e023fa66f74'],
  ])('is found by the name of %s, whole and in order', async (_of, name) => {
    const life = await knownLife(sources(), name);

    const whats = life.lines.map(({ what }) => what);
    expect(whats[0]).toMatch(/^launch began in NodePool example for 5 pods: .*; replaces nodes \(underutilized\)/);
    expect(whats.slice(1)).toEqual([
      'instance i-d92246e023fa66f74 launched: m5.2xlarge on-demand in us-west-2c, $0.3840 per hour',
      'registered as Node ip-172-31-32-10.us-west-2.compute.internal and initialized',
      'expires at 2026-12-23T10:44:52Z',
      'disruption proposed (Empty): no replacement, 0 pods to move, saves $0.3840 per hour',
      'tainted: no new pods',
      'termination began (empty)',
      'Node ip-172-31-32-10.us-west-2.compute.internal tainted',
      'drained',
      'volumes are detached',
      'terminated: 0 pods evicted in 38s',
      'disruption done, saves $0.3840 per hour',
    ]);
    expect(life).toMatchObject({
      nodeClaim: 'example-2969a53eff',
      nodePool: 'example',
      node: 'ip-172-31-32-10.us-west-2.compute.internal',
      instance: 'i-d92246e023fa66f74',
    });
    expect(life.lines[1]).toMatchObject({ workflowId: 'stowage-local/launch/ff32e727-677e-4796-b6c0-a5ff3dc333a9' });
  });

  test('is found by its termination where its launch is past retention', async () => {
    const claim = 'example-2969a53eff';
    const node = 'ip-172-31-32-10.us-west-2.compute.internal';
    const kept = all.filter(({ type }) => type !== 'launchNode').map((run) => terminatedAs(run, claim, node));

    expect(await knownLife(sources({ runs: kept }), node)).toMatchObject({ nodeClaim: claim });
    await expect(knownLife(sources({ runs: kept }), 'ip-0')).rejects.toThrow('nothing is known of "ip-0"');
  });

  test('includes commands whose first candidate is another node', async () => {
    const life = await knownLife(sources(), 'example-dfae046766');
    const candidate = 'example-08831a18ba';
    const others = await knownLife(sources(), candidate);

    const proposed = 'disruption proposed (Underutilized) together with 3 other nodes';
    expect(life.lines.some(({ what }) => what.startsWith(proposed))).toBe(true);
    expect(others.lines.filter(({ what }) => what.startsWith(proposed)).length).toBeGreaterThan(0);
  });

  test('says from when on history is past retention', async () => {
    const runs = all.filter(({ type }) => type !== 'launchNode' && type !== 'terminateNode');
    const life = await knownLife(sources({ runs }), 'example-2969a53eff');

    const kept = 'Temporal keeps a workflow for 3 days after its end';
    expect(life.notes).toEqual([
      `The launch of NodeClaim example-2969a53eff is not or no longer kept: ${kept}.`,
      `Its termination is not or no longer kept: ${kept}.`,
      'NodeClaim and Node are gone: what only they said, such as when it drifted, is not kept.',
    ]);
  });

  test('names a history that was deleted meanwhile, and shows the rest', async () => {
    const own = sources();
    const steps: Engine['steps'] = async (run) =>
      run.workflowId.includes('/terminate/') ? Promise.reject(new Error('not found')) : own.engine.steps(run);
    const life = await knownLife({ ...own, engine: { ...own.engine, steps } }, 'example-2969a53eff');

    expect(life.lines.length).toBeGreaterThan(4);
    const gone = 'stowage-local/terminate/ff32e727-677e-4796-b6c0-a5ff3dc333a9';
    expect(life.notes).toContain(`The history of ${gone} cannot be read: not found.`);
  });

  test('is shown without the API server', async () => {
    const away = { list: async () => Promise.reject(new Error('connection refused')) };
    const life = await knownLife({ ...sources(), kube: away as unknown as Sources['kube'] }, 'example-2969a53eff');

    expect(life.lines.length).toBeGreaterThan(10);
    expect(life.notes).toEqual(['Kubernetes cannot be read: connection refused.']);
    const unknown = knownLife({ ...sources(), kube: away as unknown as Sources['kube'] }, 'node-9');
    await expect(unknown).rejects.toThrow(
      'Temporal knows nothing of a NodeClaim, Node or instance "node-9". Kubernetes cannot be read: connection refused.',
    );
  });
});

describe('history of a node in Kubernetes', () => {
  const claim = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: 'late-1',
      creationTimestamp: '2026-11-23T10:00:00Z',
      labels: { 'karpenter.sh/nodepool': 'late' },
    },
    spec: {},
    status: {
      nodeName: 'node-1',
      providerID: 'aws:///us-west-2a/i-0late',
      conditions: [
        { type: 'Registered', status: 'True', lastTransitionTime: '2026-11-23T10:01:00Z' },
        { type: 'Drifted', status: 'True', reason: 'NodePoolDrifted', lastTransitionTime: '2026-11-23T11:01:00Z' },
      ],
    },
  } as unknown as NodeClaim;

  test.each(['late-1', 'node-1', 'i-0late'])(
    'is found as %s, and includes what its workflows no longer have',
    async (name) => {
      const records = await readNode(sources({ claims: [claim] }), name);

      expect(lifeOf(records!).lines).toEqual([
        { at: '2026-11-23T10:00:00.000Z', what: 'NodeClaim late-1 of NodePool late created' },
        { at: '2026-11-23T10:01:00.000Z', afterMs: 60_000, what: 'registered' },
        { at: '2026-11-23T11:01:00.000Z', afterMs: 3_600_000, what: 'drifted: NodePoolDrifted' },
      ]);
    },
  );
});

test('history of an unknown name fails, and says what was looked up', async () => {
  const asked = knownLife(sources(), 'nosuch');

  await expect(asked).rejects.toBeInstanceOf(UsageError);
  await expect(asked).rejects.toThrow(
    'nothing is known of "nosuch" in cluster stowage-local: no NodeClaim in Kubernetes has that name, that Node or that instance, ' +
      'and no workflow in Temporal is about such a NodeClaim or instance, nor any of the newest 500 launches and terminations about such a Node (a workflow is kept for 3 days after its end)',
  );
});

test('each run in the recorded histories of a node gives a line of its life', () => {
  const runs = all.flatMap((run) => {
    const kind = parseWorkflowId(run.workflowId)?.kind;
    return kind !== undefined && isDescribed(kind) ? [{ ...run, kind }] : [];
  });
  expect(runs.length).toBeGreaterThan(20);
  for (const run of runs) {
    const life = lifeOf({
      ...{ name: 'n', claimName: 'n', now: 0, pods: [], gaps: [], isKubernetesRead: false },
      runs: [run],
    });
    expect([run.workflowId, life.lines.length]).not.toEqual([run.workflowId, 0]);
    expect(lifeText(life)).not.toMatch(/undefined|NaN|\[object/);
  }
});
