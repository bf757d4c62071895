import type { DisruptionActivities } from '../../activities/disruption/contract.js';
import type { Candidate, ConsolidateInput } from '../messages.js';
import { activitiesOf } from '../calls/proxies.js';

type Confirmed = Awaited<ReturnType<DisruptionActivities['confirmCandidates']>>;

/**
 * Validates a command: by another simulation before it begins, and against the API server after its nodes are tainted.
 */
export class CommandValidation {
  /** Nodes of disruptions that began before this one and that its decision does not include. */
  private before: readonly string[] = [];

  constructor(private readonly input: ConsolidateInput) {}

  /** Later validations place no pods on these nodes (people/one-after-another). */
  countAsGone(nodes: readonly string[]): void {
    this.before = nodes;
  }

  /**
   * The candidates that may still be disrupted (commands/validation), or why none may. `created`: replacements that
   * exist already.
   */
  async validate(created: readonly string[]): Promise<readonly Candidate[] | string> {
    const { cluster, reason, candidates, decision } = this.input;
    const verdict = await activitiesOf(cluster).kube.validateCandidates.executeWithOptions(
      { summary: 'validate: simulate the command again', startToCloseTimeout: '10 minutes' },
      [{ reason, candidates, ...validatedParts(decision, this.before), ...(created.length === 0 ? {} : { created }) }],
    );
    if (verdict.valid.length > 0) return verdict.valid;
    return verdict.dropped[0]?.why ?? 'no candidate is left';
  }

  /**
   * Checks the tainted nodes once more before the drain (commands/checked-after-the-taint). Returns those that may not be
   * disrupted, and the pause that applies to them.
   */
  async confirm(deleting: readonly Candidate[]): Promise<Confirmed> {
    const { cluster, reason, decision } = this.input;
    const candidates = deleting.map(({ claim, node, nodePool }) => ({ claim, node, nodePool }));
    return activitiesOf(cluster).kube.confirmCandidates.executeWithOptions(
      { summary: 'check pods and pauses before the drain' },
      [{ method: decision?.method ?? 'empty', reason, candidates }],
    );
  }
}

function validatedParts(decision: ConsolidateInput['decision'], before: readonly string[]) {
  if (decision === undefined) return {};
  const { method, replacements, typeLists, moves } = decision;
  const alongside = [...new Set([...decision.alongside, ...before])];
  return { decision: { method, replacements, typeLists, alongside, moves } };
}
