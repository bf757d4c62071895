import { workflowIds } from '../core/ids.js';
import { quotedForQuery, searchAttributes, type WorkflowSubject } from './search-attributes.js';

const startedAnew = 'the operator starts it again within two minutes, as far as Kubernetes asks for it';
const untainted = 'the next search of `disrupt` removes its taints, if no node of it is being drained';

/** What happens to a workflow of this type that a person terminates or resets, and what to do in its place. */
const guidance: ReadonlyMap<string, string> = new Map([
  ['provision', `Terminated or reset: ${startedAnew}.`],
  ['disrupt', `Terminated or reset: ${startedAnew}. To stop disruption, send \`pause\`.`],
  ['offerings', 'Terminated: the offerings that it remembers are tried again.'],
  ['keepReplicas', `Terminated or reset: ${startedAnew}. To stop it, change the replicas of the NodePool.`],
  [
    'launchNode',
    `Terminated or reset: ${startedAnew}, and nothing is launched twice. To stop it, delete the NodeClaim.`,
  ],
  [
    'terminateNode',
    'The deletion of a NodeClaim cannot be undone: if this workflow is terminated, it is started again at once.',
  ],
  ['consolidate', `To stop it, send \`abort\`, or pause disruption. Terminated: ${untainted}.`],
  ['replaceNode', `To stop it, send \`abort\`, or pause disruption. Terminated: ${untainted}.`],
  ['replaceDrifted', `To stop it, send \`abort\` or \`rollback\`, or pause disruption. Terminated: ${startedAnew}.`],
  ['expireNode', `To stop it, send \`abort\`, or pause disruption. Terminated: ${startedAnew}.`],
  ['repairNode', `To stop it, send \`abort\`, or pause disruption. Terminated: ${startedAnew}.`],
  ['handleInterruption', `The cloud takes the instance in any case. Terminated: ${startedAnew}.`],
  ['measureSavings', 'Terminated: nothing but the measurement is lost.'],
]);

const mostClaims = 8;

/**
 * The static details of a workflow in the Temporal UI, as Markdown: guidance for terminate and reset, and links to
 * related workflows, whether they exist or not. `more`: a first paragraph.
 */
export function startDetails(type: string, input: WorkflowSubject, namespace: string, more?: string): string {
  const { cluster, claim, candidate, candidates = [], instanceId, notify, alsoNotify = [] } = input;
  const page = `/namespaces/${encodeURIComponent(namespace)}/workflows`;
  const link = (id: string): string => `[\`${id}\`](${page}/${encodeURIComponent(id)})`;
  const list = (what: string, key: 'nodeClaim' | 'instanceId', value: string): string =>
    `[${what} ${value}](${page}?query=${encodeURIComponent(`${searchAttributes[key].name} = ${quotedForQuery(value)}`)})`;
  const waiting = notify === undefined ? [] : [notify, ...alsoNotify];
  const claims = [claim, candidate?.claim, ...candidates.slice(0, mostClaims).map((one) => one.claim)];
  const ofClaims = claims.flatMap((one) => {
    if (one === undefined) return [];
    const ids = [workflowIds.launch(cluster, one.uid), workflowIds.terminate(cluster, one.uid)];
    return [`- ${list('NodeClaim', 'nodeClaim', one.name)}: ${ids.map(link).join(', ')}`];
  });
  return [
    ...(more === undefined ? [] : [more]),
    guidance.get(type) ?? '',
    [
      ...waiting.map((id) => `- asked for by ${link(id)}`),
      ...ofClaims,
      ...(instanceId === undefined ? [] : [`- ${list('instance', 'instanceId', instanceId)}`]),
    ].join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}
