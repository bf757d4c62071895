import type { Node } from '../api/kubernetes.js';
import { annotations, taints } from '../api/labels.js';
import { isHint } from '../core/interruption-kinds.js';
import { epochMs, object, text } from '../core/shapes.js';
import { hasTaint } from '../core/taints.js';
import type { KubeClient } from '../kube/port.js';
import { updateNode } from './writes.js';

/** What the cloud said of the instance of a node that it takes. */
export interface InterruptionNote {
  readonly kind: string;
  /** When it said so, milliseconds of the epoch. */
  readonly at: number;
}

/**
 * Rule `interruption/recorded-first`: taints the node and writes the notice on it, by one request and without Temporal. Many nodes that are interrupted
 * at once take no more pods within seconds, and the notice outlives whatever handles it. `seen` is what a cache has of the node.
 */
export async function noteInterruption(kube: KubeClient, seen: Node, { kind, at }: InterruptionNote): Promise<void> {
  const noted = JSON.stringify({ kind, at });
  const change = ({ metadata, spec }: Node): ReturnType<Parameters<typeof updateNode>[2]> => {
    const known = metadata.annotations?.[annotations.interruption];
    if (metadata.uid !== seen.metadata.uid || metadata.deletionTimestamp !== undefined || known !== undefined) {
      return undefined;
    }
    const present = spec?.taints ?? [];
    const isTainted = hasTaint({ spec: { taints: present } }, taints.disrupted);
    return {
      metadata: { annotations: { [annotations.interruption]: noted } },
      ...(isTainted ? {} : { spec: { taints: [...present, taints.disrupted] } }),
    };
  };
  await updateNode(kube, seen.metadata.name ?? '', change, seen);
}

const noteShape = object({ kind: text, at: epochMs });
const isNote = (value: unknown): value is InterruptionNote => noteShape(value, '') === undefined;

/** The notice on the node; undefined where there is none, and for text that is none. */
export function interruptionNoteOf(node: Node | undefined): InterruptionNote | undefined {
  const noted = node?.metadata.annotations?.[annotations.interruption];
  if (noted === undefined) return undefined;
  try {
    const note: unknown = JSON.parse(noted);
    return isNote(note) && !isHint(note.kind) ? { kind: note.kind, at: note.at } : undefined;
  } catch {
    return undefined;
  }
}
