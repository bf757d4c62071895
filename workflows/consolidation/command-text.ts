import { replacementIndex } from '../../disruption/command.js';
import { dollars, counted } from '../../core/text.js';
import type { Question } from '../people/consent.js';
import type { Candidate, ClaimPlan, ConsolidateInput, Decision, Explanation } from '../messages.js';

/** How many pods are listed by name in the Temporal UI; the rest is counted. */
const podsShown = 12;
const nodesShown = 8;

/** The facts of a command for the Temporal UI: its saving, replacements, pod moves, rejected alternatives and nodes. */
export function commandFacts({ reason, candidates, decision }: ConsolidateInput): Explanation['facts'] {
  const nodes = Object.fromEntries(candidates.slice(0, nodesShown).map((one) => [one.node, candidateText(one)]));
  const rest = candidates.length - nodesShown;
  return {
    reason,
    ...(decision === undefined ? {} : decisionFacts(decision)),
    ...nodes,
    ...(rest > 0 ? { 'more nodes': rest } : {}),
  };
}

/** The question that asks a person for approval, and what happens after approval. */
export function questionOf({ reason, candidates }: ConsolidateInput, decision: Decision): Question {
  const { replacements, podCount, priceBefore, priceAfter, policy } = decision;
  const nodes = more(
    candidates.slice(0, nodesShown).map(({ node }) => node),
    candidates.length,
    ', ',
  );
  const pools = [...new Set(candidates.map(({ nodePool }) => nodePool))].sort();
  const together =
    pools.length < 2 ? '' : ` of NodePools ${more(pools.slice(0, nodesShown), pools.length, ', ')} together`;
  const instead = replacements.length === 0 ? '' : `launches ${counted(replacements.length, 'replacement')}, `;
  const moved = podCount === 0 ? 'moves no pods' : `evicts ${counted(podCount, 'pod')}`;
  const saved = priceBefore - priceAfter;
  const price = saved > 0 ? `, and saves ${dollars(saved)} an hour` : '';
  const asks = policy === undefined ? '' : ` (DisruptionPolicy ${policy} asks)`;
  return {
    what: `approval to disrupt ${nodes}${together}, ${reason}${asks}`,
    yes: `${instead}${moved} and terminates ${counted(candidates.length, 'node')}${price}; PodDisruptionBudgets and do-not-disrupt hold`,
    ...(podCount === 0 ? {} : { moves: { podCount, first: movesOf(decision) } }),
  };
}

function decisionFacts(decision: Decision): Explanation['facts'] {
  const { replacements, podCount, priceBefore, priceAfter, alternatives, policy } = decision;
  return {
    'price per hour': `${dollars(priceBefore)} → ${dollars(priceAfter)}, saves ${dollars(priceBefore - priceAfter)}`,
    'replaced by': replacements.length === 0 ? 'nothing: the pods fit on other nodes' : replacementsText(replacements),
    'pods to move': podCount === 0 ? 'none' : `${podCount}: ${movesText(decision)}`,
    ...Object.fromEntries(
      alternatives.map(({ nodes, why }, i) => [`rejected alternative ${i + 1}`, `${nodes}: ${why}`]),
    ),
    ...(policy === undefined ? {} : { DisruptionPolicy: policy }),
  };
}

function replacementsText(replacements: readonly ClaimPlan[]): string {
  const shown = replacements
    .slice(0, nodesShown)
    .map(
      ({ cheapest: { instanceType, capacityType, zone, pricePerHour }, nodePool, podCount }) =>
        `${instanceType} ${capacityType} in ${zone}, ${dollars(pricePerHour)}/h, for ${counted(podCount, 'pod')} (NodePool ${nodePool})`,
    );
  return more(shown, replacements.length);
}

const movesText = (decision: Decision): string => more(movesOf(decision), decision.podCount);

const movesOf = ({ moves, replacements }: Decision): readonly string[] =>
  moves.slice(0, podsShown).map(({ pod, to }) => `${pod} → ${placeText(to, replacements.length)}`);

function placeText(to: string, replacements: number): string {
  const index = replacementIndex(to);
  if (index === undefined) return to;
  return replacements === 1 ? 'the new node' : `new node ${index + 1}`;
}

function more(shown: readonly string[], all: number, between = '; '): string {
  const rest = all - shown.length;
  return `${shown.join(between)}${rest > 0 ? `${between}and ${rest} more` : ''}`;
}

function candidateText({ instanceType, capacityType, zone, pricePerHour }: Candidate): string {
  return `${instanceType} ${capacityType} in ${zone}, ${dollars(pricePerHour)}/h`;
}

/** One line: `2 nodes → c6a.xlarge, saves 0.12 USD/h`. */
export function summaryOf(reason: string, candidates: readonly Candidate[], decision: Decision | undefined): string {
  const nodes = candidates.slice(0, 3).map(({ node }) => node);
  const rest = candidates.length - nodes.length;
  const from = `${reason}: ${nodes.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  if (decision === undefined || decision.method === 'empty') return from;
  const types = decision.replacements.map(({ cheapest }) => cheapest.instanceType);
  const to = types.length === 0 ? '' : ` → ${types.slice(0, 3).join(', ')}${types.length > 3 ? ' …' : ''}`;
  return `${from}${to}, saves ${dollars(decision.priceBefore - decision.priceAfter)}/h`;
}
