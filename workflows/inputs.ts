import { absentOr, epochMs, listOf, nonEmptyListOf, object, span, text, type Shape } from '../core/shapes.js';
import { interruptionShape } from './payloads.js';
import { workflowIds } from '../core/ids.js';
import { unreadableIn } from './unreadable.js';

/*
 * Anyone with access to Temporal can start a workflow by hand, with any input. Code that reads a missing field throws,
 * and Temporal tries the workflow task again and again. So the input is checked before the workflow begins; malformed
 * input fails the workflow, with the reason. The state that a run carries over to the next one is not checked.
 */

const claim = object({ name: text, uid: text });
const ofCluster = object({ cluster: text });
const ofClaim = object({ cluster: text, claim, nodePool: text });
const candidate = object({ claim, node: text, nodePool: text });

/**
 * The shape of each workflow type's input.
 *
 * @testOnly every workflow type has to have one
 */
export const inputShapes: ReadonlyMap<string, Shape> = new Map([
  ['consolidate', object({ cluster: text, reason: text, candidates: listOf(candidate) })],
  ['disrupt', ofCluster],
  ['expireNode', object({ cluster: text, claim, nodePool: text, expiresAt: epochMs })],
  ['handleInterruption', object({ cluster: text, instanceId: text, notices: absentOr(listOf(interruptionShape)) })],
  ['keepReplicas', object({ cluster: text, nodePool: text, poolUid: text })],
  ['launchNode', ofClaim],
  [
    'measureSavings',
    object({ cluster: text, command: object({ id: text, nodes: nonEmptyListOf(text), finishedAt: epochMs }) }),
  ],
  ['offerings', ofCluster],
  ['provision', ofCluster],
  ['repairNode', ofClaim],
  ['replaceDrifted', object({ cluster: text, nodePool: text, poolUid: text, hash: text })],
  ['replaceNode', object({ cluster: text, reason: text, candidate, withinMs: span })],
  ['terminateNode', object({ cluster: text, claim, nodePool: text, reason: text })],
]);

/** Why a workflow of this type cannot begin with these arguments; undefined if it can. */
export function malformedInput(type: string, args: readonly unknown[]): string | undefined {
  return unreadableIn(args) ?? inputShapes.get(type)?.(args[0], '');
}

/** The fields of inputs that workflow ids are derived from. */
interface IdFields {
  readonly cluster: string;
  readonly claim: { readonly uid: string };
  readonly poolUid: string;
  readonly hash: string;
  readonly instanceId: string;
  readonly candidate: { readonly claim: { readonly uid: string } };
  readonly candidates: readonly { readonly claim: { readonly uid: string } }[];
}

/** The only id that a workflow may have, for the types that run once for each cluster, NodePool, node or command. */
const idsOf: ReadonlyMap<string, (input: IdFields) => string> = new Map([
  ['consolidate', ({ cluster, candidates }) => workflowIds.consolidate(cluster, candidates.map(({ claim: { uid } }) => uid))], // prettier-ignore
  ['disrupt', ({ cluster }) => workflowIds.disrupt(cluster)],
  ['expireNode', (input) => workflowIds.expire(input.cluster, input.claim.uid)],
  ['handleInterruption', ({ cluster, instanceId }) => workflowIds.interrupt(cluster, instanceId)],
  ['keepReplicas', ({ cluster, poolUid }) => workflowIds.replicas(cluster, poolUid)],
  ['launchNode', (input) => workflowIds.launch(input.cluster, input.claim.uid)],
  ['offerings', ({ cluster }) => workflowIds.offerings(cluster)],
  ['provision', ({ cluster }) => workflowIds.provision(cluster)],
  ['repairNode', (input) => workflowIds.repair(input.cluster, input.claim.uid)],
  ['replaceDrifted', ({ cluster, poolUid, hash }) => workflowIds.drift(cluster, poolUid, hash)],
  ['replaceNode', (input) => workflowIds.replace(input.cluster, input.candidate.claim.uid)],
  ['terminateNode', (input) => workflowIds.terminate(input.cluster, input.claim.uid)],
]);

/**
 * Why a workflow may not run under this id; undefined if it may. Under another id a second workflow of its type could
 * do the same work at the same time, because only the id prevents that. `args` have the shape of the type's input.
 */
export function wrongId(type: string, id: string, args: readonly unknown[]): string | undefined {
  const expected = idsOf.get(type)?.(args[0] as IdFields);
  return expected === undefined || expected === id ? undefined : `its id is ${id}: give ${expected}`;
}
