import { issue, type Issue } from '../schema/issues.js';
import type { NodeOverlay } from './node-overlay.js';
import { requirementIssues } from './requirement-rules.js';

/** Resources that AWS instance types define. */
const providerResources: readonly string[] = [
  'vpc.amazonaws.com/pod-eni',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
  'habana.ai/gaudi',
  'vpc.amazonaws.com/efa',
];

/**
 * Errors of a parsed NodeOverlay beyond what the API server rejects (node-overlays/checks-beyond-the-schema): each
 * makes `ValidationSucceeded` False with reason `RuntimeValidation`.
 */
export function nodeOverlayIssues(overlay: NodeOverlay): Issue[] {
  const capacity = Object.entries(overlay.spec.capacity ?? {})
    .filter(([name]) => providerResources.includes(name))
    .map(([name, amount]) =>
      issue(['spec', 'capacity', name], amount, `resources other than ${providerResources.join(', ')}`),
    );
  return [...requirementIssues(overlay.spec.requirements, ['spec', 'requirements']), ...capacity];
}
