import type { Condition } from '../../api/kubernetes.js';
import { labelsOf, poolText } from '../../cluster/node-labels.js';
import type { NodeRecords } from './records.js';
import type { LifeEntry } from './life-entries.js';

/** Conditions of a NodeClaim that `launchNode` describes better, as long as its history is retained. */
const ofLaunch: ReadonlyMap<string, string> = new Map([
  ['Launched', 'instance launched'],
  ['Registered', 'registered'],
  ['Initialized', 'initialized'],
]);

/** Information only in Kubernetes objects. */
export function objectLines(records: NodeRecords): readonly LifeEntry[] {
  const { claim, node } = records;
  const hasLaunch = records.runs.some(({ kind }) => kind === 'launch');
  const created =
    claim === undefined ? '' : `NodeClaim ${records.claimName} of ${poolText(labelsOf(claim).nodePool)} created`;
  return [
    ...at(claim?.metadata.creationTimestamp, created),
    ...(claim?.status?.conditions ?? []).flatMap((condition) => conditionLine(condition, hasLaunch)),
    ...at(claim?.metadata.deletionTimestamp, 'NodeClaim marked for deletion'),
    ...at(node?.metadata.creationTimestamp, `Node ${node?.metadata.name ?? ''} created`),
    ...(node?.status?.conditions ?? []).flatMap(notReady),
  ];
}

function conditionLine(
  { type, status, reason = '', message = '', lastTransitionTime }: Condition,
  hasLaunch: boolean,
): readonly LifeEntry[] {
  const launch = ofLaunch.get(type);
  if (launch !== undefined) return hasLaunch || status !== 'True' ? [] : at(lastTransitionTime, launch);
  if (type !== 'Drifted' || status !== 'True') return [];
  return at(
    lastTransitionTime,
    `drifted${message === '' && reason === '' ? '' : `: ${message === '' ? reason : message}`}`,
  );
}

function notReady({ type, status, message = '', lastTransitionTime }: Condition): readonly LifeEntry[] {
  if (type !== 'Ready' || status === 'True') return [];
  return at(lastTransitionTime, `Node is not Ready${message === '' ? '' : `: ${message}`}`);
}

function at(time: string | undefined, what: string): readonly LifeEntry[] {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? [] : [{ at: ms, what }];
}
