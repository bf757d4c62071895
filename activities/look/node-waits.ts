import { cutText } from '../../core/cut-text.js';
import { timeText } from '../../core/time-text.js';
import type { NodeWaits } from '../../workflows/messages.js';

/** What a node waits for that may go, and that the last search did not take. */
export interface NodeWait {
  readonly node: string;
  /** Until what is waited for is there the node stays, or goes as soon as that is there. */
  readonly verdict: 'may go' | 'stays';
  /** What it waits for, with no time in it: as long as that is the same, the node waits since then. */
  readonly what: string;
  /** When that is there, if known, milliseconds of the epoch. */
  readonly until?: number;
}

/** The most bytes of what is told of one search. */
const mostBytes = 16 * 1024;
const mostOfWhat = 500;

/** Since when nodes wait for what they wait for. Kept in the process only: one that forgets it counts from its first search. */
export class WaitingNodes {
  private since = new Map<string, { readonly what: string; readonly at: number }>();

  /** Takes in the waits of a search at `now`. Returns them in words, nodes with the same words together. */
  note(waits: readonly NodeWait[], now: number): NodeWaits {
    const since = new Map<string, { readonly what: string; readonly at: number }>();
    const byWhy = new Map<string, { readonly verdict: NodeWait['verdict']; readonly why: string; nodes: string[] }>();
    let room = mostBytes;
    for (const wait of waits) {
      const known = this.since.get(wait.node);
      const began = known?.what === wait.what ? known : { what: wait.what, at: now };
      since.set(wait.node, began);
      const why = waitText(wait, began.at);
      const told = byWhy.get(why);
      room -= wait.node.length + (told === undefined ? why.length : 0);
      if (room < 0) continue;
      if (told === undefined) byWhy.set(why, { verdict: wait.verdict, why, nodes: [wait.node] });
      else told.nodes.push(wait.node);
    }
    this.since = since;
    return [...byWhy.values()];
  }
}

/** Of one that stays the same as `status` and its event say. */
function waitText({ what, until, verdict }: NodeWait, since: number): string {
  const text = cutText(what, mostOfWhat);
  if (verdict === 'stays') return text;
  return `${text}${until === undefined ? '' : `, from ${timeText(until)} on`} (waits since ${timeText(since)})`;
}
