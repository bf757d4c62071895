import type { WorkflowKind } from '../core/ids.js';
import { UsageError } from './exit.js';

/** A workflow for a node. */
export interface Found {
  readonly workflowId: string;
  readonly kind: WorkflowKind | undefined;
  readonly asks: boolean;
  readonly phase: string;
}

/** Orders for a node, by name. */
export type NodeOrder = 'approve' | 'reject' | 'abort' | 'expedite' | 'retry' | 'hold';

/** These can be aborted before the point of no return; an order without workflow id means the first active one. */
const revocable: readonly (WorkflowKind | undefined)[] = ['consolidate', 'replace', 'drift', 'repair', 'expire'];
const draining: ReadonlySet<string> = new Set(['draining', 'detaching volumes', 'terminating the instance']);
/** Phases in which an expiration only waits for its time. */
const dormant: ReadonlySet<string> = new Set(['not due', 'starting', '']);

/** Whether it is an expiration that only waits for its time. */
export const isDormant = ({ kind, phase }: Found): boolean => kind === 'expire' && dormant.has(phase);

const preferred: Readonly<Record<NodeOrder, readonly (WorkflowKind | undefined)[]>> = {
  approve: [...revocable, 'terminate'],
  reject: [...revocable, 'terminate'],
  abort: revocable,
  hold: revocable,
  expedite: ['terminate', ...revocable],
  retry: ['terminate', ...revocable],
};

/** Whether the workflow accepts the order in its current phase. */
function canObey(order: NodeOrder, found: Found): boolean {
  const { asks, phase } = found;
  if (order === 'approve' || order === 'reject') return asks;
  if (isDormant(found)) return false;
  if (order === 'abort' || order === 'hold') return !draining.has(phase);
  return true;
}

/**
 * Of the workflows for a node, the one that accepts the order. Throws `UsageError` with the active workflows if there
 * is none, or several.
 */
export function chooseWorkflow(subject: string, order: NodeOrder, all: readonly Found[]): string {
  const fit = all.filter((found) => preferred[order].includes(found.kind) && canObey(order, found));
  const [first] = preferred[order].filter((kind) => fit.some((found) => found.kind === kind));
  const [only, ...others] = fit.filter(({ kind }) => kind === first);
  if (only === undefined) throw new UsageError(whyNone(subject, order, all));
  if (others.length === 0) return only.workflowId;
  const lines = [only, ...others].map(({ workflowId, phase }) => `  ${workflowId} (${phase})`).join('\n');
  throw new UsageError(`several workflows are about "${subject}"; name one of them:\n${lines}`);
}

const cannot: Readonly<Record<NodeOrder, string>> = {
  approve: 'nothing waits for approval',
  reject: 'nothing waits for approval',
  abort: 'nothing can be taken back any more',
  hold: 'nothing can be held any more',
  expedite: 'nothing is under way that could be expedited',
  retry: 'nothing is under way that could be tried again',
};

function whyNone(subject: string, order: NodeOrder, all: readonly Found[]): string {
  if (all.length === 0)
    return `"${subject}" is no workflow id, and nothing is under way for a node or NodePool of that name`;
  const active = all.filter((found) => !isDormant(found));
  const lines = all.map(({ workflowId, phase }) => `  ${workflowId} (${phase === '' ? 'starting' : phase})`).join('\n');
  const head = active.length === 0 ? `nothing is under way for "${subject}" but` : `${cannot[order]} for "${subject}":`;
  const expiration = active.length > 0 ? '' : '\nan order to its expiration has to name that workflow';
  return `${head}\n${lines}${expiration}`;
}
