import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import type { InstanceType } from './instance-type.js';

/**
 * Makes equal requirements of a catalogue one object: of the 54,000 in EC2's types and offerings some 3,000 are
 * distinct. Catalogues are immutable.
 */
export class SharedRequirements {
  private readonly byKey = new Map<string, Map<string, NodeSelectorRequirement>>();
  private readonly lists = new WeakSet<readonly NodeSelectorRequirement[]>();

  /** The type, with equal requirements replaced by shared ones. */
  in(type: InstanceType): InstanceType {
    return {
      ...type,
      requirements: this.list(type.requirements),
      offerings: type.offerings.map((offering) => ({ ...offering, requirements: this.list(offering.requirements) })),
    };
  }

  /** The shared equal requirements; a list returned before is returned unchanged. */
  list(requirements: readonly NodeSelectorRequirement[]): NodeSelectorRequirement[] {
    if (this.lists.has(requirements)) return requirements as NodeSelectorRequirement[];
    const shared = requirements.map((requirement) => this.one(requirement));
    this.lists.add(shared);
    return shared;
  }

  private one(requirement: NodeSelectorRequirement): NodeSelectorRequirement {
    const { key, operator, values } = requirement;
    let ofKey = this.byKey.get(key);
    if (ofKey === undefined) this.byKey.set(key, (ofKey = new Map<string, NodeSelectorRequirement>()));
    const text = values === undefined ? operator : `${operator} ${values.length} ${values.join('\0')}`;
    const known = ofKey.get(text);
    if (known === undefined) ofKey.set(text, requirement);
    return known ?? requirement;
  }
}
