import type { ApprovalAsked, Candidate, ClaimPlan, ClaimRef } from '../../workflows/messages.js';

/** How a node is to go when it has expired, as the policy of its pool says now (expiration/replaced-first). */
export type ExpirationView =
  | { readonly state: 'gone' }
  | {
      readonly state: 'live';
      readonly mode: 'ReplaceFirst' | 'Forceful';
      /** When replacing begins, or under `Forceful` deletion; milliseconds of the epoch. */
      readonly beginAt: number;
      /** When it goes whatever it waits for, milliseconds of the epoch; absent: it waits. */
      readonly mustGoAt?: number;
      /** Absent while the claim has no node: then nothing needs a new place. */
      readonly candidate?: Candidate;
      readonly approval?: ApprovalAsked;
      /** Why the policy wants the node left alone, such as `mode: Recommend`. */
      readonly leftAlone?: string;
      /** Of a static pool (expiration/static-successor), once it is due: the one node that takes its place, whatever pods it has. */
      readonly successor?: {
        readonly replacements: readonly ClaimPlan[];
        readonly typeLists: readonly (readonly string[])[];
      };
      /** Of a static pool: why there can be no node beside it, so that it goes first. */
      readonly noRoom?: string;
    };

export interface ExpirationActivities {
  viewExpiration(input: { readonly claim: ClaimRef; readonly expiresAt: number }): Promise<ExpirationView>;
  /** Says on the claim that somebody declined its expiration, and why; taking annotation stowage.dev/expiration-declined off undoes it. */
  declineExpiration(input: { readonly claim: ClaimRef; readonly why: string }): Promise<void>;
}
