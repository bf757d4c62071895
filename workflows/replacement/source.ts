import type { ClaimRef } from '../messages.js';

/** Whether the pods of nodes that are to go have other nodes, or why not. */
export type Readiness =
  | { readonly state: 'ready' }
  | { readonly state: 'interrupted' }
  | { readonly state: 'failed' | 'late'; readonly why: string };

/** How nodes are launched in place of those that go: through `provision` (ViaProvision), or exactly as decided (ExactClaims). */
export interface ReplacementSource {
  /** NodeClaims that are launched, as far as they are known. */
  readonly claims: readonly ClaimRef[];
  /** Begins to launch; gives why not all of it can be, where that is known at once. */
  launch(of: {
    readonly nodes: readonly string[];
    readonly reason: string;
    readonly holdMs: number;
  }): Promise<string | undefined>;
  /** `ready` once every replacement is initialized, `failed` once one is lost, `late` after `ms`; `interrupted` once `interrupt` holds. */
  awaitReady(ms: number, interrupt: () => boolean): Promise<Readiness>;
  /** The nodes stay: `provision` plans them again as nodes that are there. What was launched stays. Harmless when repeated. */
  giveBack(): Promise<void>;
}
