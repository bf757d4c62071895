import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { annotations, taints } from '../api/labels.js';
import { isRecorded, type InterruptionNotice } from '../core/interruption-kinds.js';
import { epochMs, object, text } from '../core/shapes.js';
import { hasTaint } from '../core/taints.js';
import type { KubeClient } from '../kube/port.js';
import { identityOf } from './node-labels.js';
import { updateClaim, updateNode } from './writes.js';
import { nameOf, isDeleting } from '../core/names.js';

/** The notice of the cloud for a claim's instance. */
type InterruptionNote = Pick<InterruptionNotice, 'kind' | 'at'>;

/**
 * Rule `interruption/recorded-first`: writes the notice on the claim and taints its node, without Temporal. If many
 * nodes are interrupted at once, they are all tainted within seconds, and the notice survives a failure of its handler.
 * `claim` and `node` come from a cache.
 */
export async function noteInterruption(
  kube: KubeClient,
  { claim, node }: { readonly claim: NodeClaim; readonly node: Node | undefined },
  note: InterruptionNote,
): Promise<void> {
  const noted = await updateClaim(
    kube,
    identityOf(claim),
    (live) =>
      isDeleting(live) || interruptionNoteOf(live) !== undefined
        ? undefined
        : { metadata: { annotations: noteMark(note) } },
    claim,
  );
  if (node === undefined || noted === undefined || isDeleting(noted)) return;
  const taint = ({ metadata, spec }: Node): ReturnType<Parameters<typeof updateNode>[2]> =>
    metadata.uid !== node.metadata.uid ||
    metadata.deletionTimestamp !== undefined ||
    hasTaint({ spec }, taints.disrupted)
      ? undefined
      : { spec: { taints: [...(spec?.taints ?? []), taints.disrupted] } };
  await updateNode(kube, nameOf(node), taint, node);
}

/** The claim annotation with the notice. */
export const noteMark = ({ kind, at }: InterruptionNote): Record<string, string> => ({
  [annotations.interruption]: JSON.stringify({ kind, at }),
});

const noteShape = object({ kind: text, at: epochMs });
const isNote = (value: unknown): value is { kind: string; at: number } => noteShape(value, '') === undefined;

/** The notice on the claim; undefined if there is none or its text is invalid. */
export function interruptionNoteOf({ metadata }: Pick<NodeClaim, 'metadata'>): InterruptionNote | undefined {
  const noted = metadata.annotations?.[annotations.interruption];
  if (noted === undefined) return undefined;
  try {
    const note: unknown = JSON.parse(noted);
    return isNote(note) && isRecorded(note.kind) ? { kind: note.kind, at: note.at } : undefined;
  } catch {
    return undefined;
  }
}
