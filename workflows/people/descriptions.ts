/*
 * Descriptions of all signals, queries and updates for the Temporal UI: what each does, and an example of its input.
 * test/workflow/descriptions.test.ts sends every example to a running workflow.
 */

interface Described {
  readonly what: string;
  /** The input as JSON; absent if the message has none. */
  readonly example?: unknown;
}

const by = { actor: 'ann', reason: 'release' };
const later = 1_900_000_000_000;

const orders = {
  approve: {
    what: 'Approves the open question; where pods lose their protection by that, it needs "force": true.',
    example: by,
  },
  reject: {
    what:
      'Rejects the open question. A consolidation is not proposed again for a day, a rollout not before the NodePool changes, ' +
      'an expiration never ("reconsider" takes these back); an escalation takes no further step.',
    example: by,
  },
  abort: { what: 'Ends the workflow before its drain begins: taints are removed, and no pod is evicted.', example: by },
  retry: { what: 'Tries again at once what has failed or waits.', example: by },
  hold: {
    what: 'Holds the workflow before its next irreversible step; "on": false lets it continue.',
    example: { ...by, on: true },
  },
  expedite: {
    what:
      'Ends the current wait. A drain tries its evictions again at once; with "force": true PodDisruptionBudgets and do-not-disrupt ' +
      'no longer protect its pods, at once or from "deadline" on (milliseconds of the epoch).',
    example: by,
  },
  rollback: { what: 'Ends the rollout, and writes the last good template back to the NodePool.', example: by },
  pause: {
    what:
      'Stops voluntary disruption in a scope, by a DisruptionPause object: kind cluster, or nodePool, node or reason with a name. "ttl" such as 2h or ' +
      '"until" (milliseconds of the epoch) ends it by itself.',
    example: { ...by, scope: { kind: 'nodePool', name: 'default' }, ttl: '2h' },
  },
  resume: {
    what: 'Ends the pause of exactly that scope.',
    example: { ...by, scope: { kind: 'nodePool', name: 'default' } },
  },
  reconsider: {
    what: 'Takes back refusals, so that these commands can be proposed again: of a "node", of a "nodePool", or "all": true.',
    example: { ...by, node: 'node-1' },
  },
} satisfies Record<string, Described>;

const questions = {
  explain: { what: 'What it does, what it waits for, and why.' },
  phase: { what: 'The phase of the workflow.' },
  whyNot: { what: 'Why a node is not disrupted, by name.', example: 'node-1' },
  running: { what: 'Commands that were started and have not ended.' },
  explainPod: { what: 'Why a pod is where it is, by name.', example: { namespace: 'default', name: 'web-0' } },
  findings: {
    what:
      'The result of the last search: decisions, what holds NodePools back, nodes that stay and why, budgets, and what the nodes of each ' +
      'NodePool cost and would cost at least, dollars per hour.',
  },
  plan: { what: 'The result of the last batch.' },
  savings: { what: 'The measured savings of the command.' },
  unavailableOfferings: { what: 'Offerings without capacity, and until when they are left alone.' },
} satisfies Record<string, Described>;

/** Sent by Stowage. If a person sends the example, it has the same effect. */
const internal = {
  clusterChanged: { what: 'From the operator: the cluster changed in a way that may make nodes candidates.' },
  nodeChanged: {
    what: 'From the operator: the NodeClaim, its Node, or something that its disruption waits for changed.',
  },
  rolloutChanged: { what: 'From the operator: the NodePool or its nodes changed.' },
  replicasChanged: { what: 'From the operator: the static NodePool or its nodes changed.' },
  podsPending: { what: 'From the operator: there are pending pods.' },
  interruption: {
    what: 'From the operator: the cloud announces something for an instance.',
    example: { kind: 'rebalance_recommendation', instanceId: 'i-0abc', at: later, messageId: 'm-1' },
  },
  withdraw: {
    what: 'From `disrupt` or a rollout: the cause of what waits is gone.',
    example: { why: 'node-1 is gone' },
  },
  launchStopped: {
    what: 'From a launch: it has stopped; its instance, if there is one.',
    example: { providerId: 'aws:///eu-west-1a/i-0abc' },
  },
  stopLaunch: {
    what: 'From `terminateNode`: the claim is being deleted, stop.',
    example: { replyTo: 'prod/terminate/1' },
  },
  replacementsPlanned: {
    what: 'From `provision`: the NodeClaims for the pods of deleting nodes.',
    example: { id: 'prod/replace/1', claims: [], unplaced: 0 },
  },
  launchEnded: {
    what: 'From a launch: how it ended.',
    example: { uid: '0002', outcome: 'initialized' },
  },
  replace: {
    what: 'From a disruption: requests NodeClaims for the pods of nodes that will be removed.',
    example: { id: 'r-1', nodes: ['node-1'], replyTo: 'prod/replace/1', reason: 'drifted', holdMs: 60_000 },
  },
  deletingNodes: {
    what: 'From a disruption: these nodes will be removed, and there are nodes for their pods; "until": 0 takes it back.',
    example: { nodes: ['node-1'], until: 0, marks: [] },
  },
  offeringsRefused: {
    what: 'From a worker: offerings that refused a launch because they have no capacity.',
    example: [
      {
        ...{ instanceType: 'm5.large', zone: 'eu-west-1a', capacityType: 'spot' },
        reason: 'InsufficientInstanceCapacity',
      },
    ],
  },
  offeringSucceeded: {
    what: 'From a worker: an offering that refused before gave an instance.',
    example: { capacityType: 'spot', instanceType: 'm5.large', zone: 'eu-west-1a' },
  },
} satisfies Record<string, Described>;

const all: ReadonlyMap<string, Described> = new Map(Object.entries({ ...orders, ...questions, ...internal }));

/** The description of a message, as an option of its handler. */
export function described(name: string): { readonly description?: string } {
  const found = all.get(name);
  if (found === undefined) return {};
  const { what, example } = found;
  const input = example === undefined ? 'No input.' : `Example: ${JSON.stringify(example)}`;
  return { description: `${what} ${input}` };
}
