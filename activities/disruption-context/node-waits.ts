import { cutText } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import type { NodeWaits } from '../../workflows/messages.js';

/** Why the last search did not take a node that may be disrupted. */
export interface NodeWait {
  readonly node: string;
  /** Whether the node stays until then, or is disrupted as soon as it may be. */
  readonly verdict: 'may go' | 'stays';
  /** What it waits for, in words without a time: while the words stay the same, the node waits for the same thing. */
  readonly what: string;
  /** When the wait ends, if known, milliseconds of the epoch. */
  readonly until?: number;
}

/** The most bytes of the reasons of one search, which are part of an activity's result. */
const mostBytes = 16 * 1024;
const mostOfWhat = 500;

/** Since when each node waits for the same thing. Kept in the process: a new process counts from its first search. */
export class WaitingNodes {
  private since = new Map<string, { readonly what: string; readonly at: number }>();

  /** Records the waits of a search at `now`, milliseconds of the epoch. Returns them in words, grouped by these. */
  record(waits: readonly NodeWait[], now: number): NodeWaits {
    const since = new Map<string, { readonly what: string; readonly at: number }>();
    const byWhy = new Map<string, { readonly verdict: NodeWait['verdict']; readonly why: string; nodes: string[] }>();
    let room = mostBytes;
    for (const wait of waits) {
      const known = this.since.get(wait.node);
      const began = known?.what === wait.what ? known : { what: wait.what, at: now };
      since.set(wait.node, began);
      const why = waitText(wait, began.at);
      const group = byWhy.get(why);
      room -= wait.node.length + (group === undefined ? why.length : 0);
      if (room < 0) continue;
      if (group === undefined) byWhy.set(why, { verdict: wait.verdict, why, nodes: [wait.node] });
      else group.nodes.push(wait.node);
    }
    this.since = since;
    return [...byWhy.values()];
  }
}

/** The wait in words. A node that stays has the words of its event, without a time. */
function waitText({ what, until, verdict }: NodeWait, since: number): string {
  const text = cutText(what, mostOfWhat);
  if (verdict === 'stays') return text;
  return `${text}${until === undefined ? '' : `, from ${timeText(until)} on`} (waits since ${timeText(since)})`;
}
