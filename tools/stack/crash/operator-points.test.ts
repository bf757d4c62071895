import { beforeEach, describe, expect, test } from '@jest/globals';
import proto from '@temporalio/proto';
import { Deaths } from './deaths.js';
import { OperatorPoints } from './operator-points.js';

const {
  SignalWithStartWorkflowExecutionRequest,
  SignalWorkflowExecutionRequest,
  StartWorkflowExecutionRequest,
  UpdateWorkflowExecutionRequest,
} = proto.temporal.api.workflowservice.v1;

let deaths: Deaths;
let points: OperatorPoints;

beforeEach(() => {
  deaths = new Deaths({
    gatherMs: 1,
    gatherAtMostMs: 1,
    quietMs: 0,
    onlyJoins: () => false,
    kill: () => deaths.died(),
  });
  points = new OperatorPoints(deaths, {
    scenarioOf: (about) => (about.includes('drift-0') ? 'drift' : 'the whole cluster'),
    most: 2,
  });
});

const payloads = (value: unknown): { payloads: { data: Buffer }[] } => ({
  payloads: [{ data: Buffer.from(JSON.stringify(value)) }],
});
const bytes = (encoded: { finish(): Uint8Array }): Buffer => Buffer.from(encoded.finish());
const places = (): string[] => deaths.reached.map(({ scenario, of, place }) => `${scenario}: ${of} ${place}`);

describe('crash points of an operator at calls to Temporal', () => {
  test.each([
    [
      'StartWorkflowExecution',
      bytes(
        StartWorkflowExecutionRequest.encode({
          workflowId: 'x',
          workflowType: { name: 'keepReplicas' },
          input: payloads({ nodePool: 'drift-0' }),
        }),
      ),
      'drift: operator after start keepReplicas 1',
    ],
    [
      'SignalWithStartWorkflowExecution',
      bytes(
        SignalWithStartWorkflowExecutionRequest.encode({
          workflowId: 'provision',
          workflowType: { name: 'provision' },
          signalName: 'podsPending',
        }),
      ),
      'the whole cluster: operator after start provision with signal podsPending 1',
    ],
    [
      'SignalWorkflowExecution',
      bytes(
        SignalWorkflowExecutionRequest.encode({
          workflowExecution: { workflowId: 'launch/uid' },
          signalName: 'nodeChanged',
          input: payloads({ node: 'drift-0-abc' }),
        }),
      ),
      'drift: operator after signal nodeChanged 1',
    ],
    [
      'UpdateWorkflowExecution',
      bytes(
        UpdateWorkflowExecutionRequest.encode({
          workflowExecution: { workflowId: 'disrupt' },
          request: { input: { name: 'pause' } },
        }),
      ),
      'the whole cluster: operator after update pause 1',
    ],
  ])('%s', (method, message, place) => {
    expect(points.response(method, message)).toBe(false);
    expect(places()).toEqual([place]);
  });

  test('do not include reads', () => {
    expect(points.response('DescribeWorkflowExecution', Buffer.alloc(0))).toBe(true);
    expect(places()).toEqual([]);
  });
});

describe('crash points of an operator at writes to Kubernetes', () => {
  const write = (method: string, path: string, status = 200): boolean =>
    points.written({ method, path, body: '{}', status });

  test.each([
    ['PATCH', '/apis/karpenter.sh/v1/nodepools/drift-0/status', 'drift: operator after patch nodepools/status 1'],
    ['POST', '/api/v1/namespaces/default/events', 'the whole cluster: operator after create events 1'],
    [
      'PUT',
      '/apis/coordination.k8s.io/v1/namespaces/stowage/leases/leader',
      'the whole cluster: operator after update leases 1',
    ],
    ['DELETE', '/api/v1/nodes/drift-0-abc', 'drift: operator after delete nodes 1'],
  ])('%s %s', (method, path, place) => {
    expect(write(method, path)).toBe(false);
    expect(places()).toEqual([place]);
  });

  test.each([
    ['GET', '/api/v1/nodes', 200],
    ['PATCH', '/api/v1/nodes/a', 409],
  ])('do not include %s %s with status %i', (method, path, status) => {
    expect(write(method, path, status)).toBe(true);
    expect(places()).toEqual([]);
  });

  test('count twice per scenario, in each scenario', () => {
    const node = (name: string): boolean => write('PATCH', `/api/v1/nodes/${name}`);
    expect([node('a'), node('b'), node('c'), node('drift-0-a')]).toEqual([false, false, true, false]);
  });
});
