import { counted } from '../../core/text.js';
import type { NodeRecords } from './records.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The parts of the node's life that are not retained, one sentence each. */
export function retentionNotes(records: NodeRecords): readonly string[] {
  const { claim, node, runs, retentionMs, claimName, isKubernetesRead } = records;
  const isGone = isKubernetesRead && claim === undefined;
  const kept =
    retentionMs === undefined ? '' : `: Temporal keeps a workflow for ${lengthText(retentionMs)} after its end`;
  const has = (kind: string): boolean =>
    runs.some((run) => run.kind === kind && run.steps.some((step) => step.is === 'started' && !step.isContinued));
  return [
    ...(has('launch') ? [] : [`The launch of NodeClaim ${claimName} is not or no longer kept${kept}.`]),
    ...(isGone && !has('terminate') ? [`Its termination is not or no longer kept${kept}.`] : []),
    ...(isGone && node === undefined
      ? ['NodeClaim and Node are gone: what only they said, such as when it drifted, is not kept.']
      : []),
  ];
}

/** `3 days`, `36 hours`. */
export function lengthText(ms: number): string {
  return ms % dayMs === 0 ? counted(ms / dayMs, 'day') : counted(Math.round(ms / hourMs), 'hour');
}
