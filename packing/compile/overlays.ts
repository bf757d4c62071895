import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { parseResource } from '../../core/resources.js';
import { intersect, isImpossible } from '../requirements/requirement.js';
import { join, readLabels, readRequirements, type Requirements } from '../requirements/requirements.js';
import { templateRequirements } from './pools.js';

type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

export interface Overlaid {
  readonly catalogues: Catalogues;
  /** Overlays refused whole, by name: another of the same weight decides what they would (section 1.3). */
  readonly conflicts: ReadonlyMap<string, string>;
}

/**
 * Catalogues with NodeOverlays applied (section 1.3): heaviest first, then by name descending. The first to decide the price
 * of an offering or the amount of a resource keeps it; one of equal weight that would decide it again is refused whole.
 */
export function applyOverlays(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly NodeOverlay[] | undefined,
): Overlaid {
  if (overlays === undefined || overlays.length === 0) return { catalogues, conflicts: new Map() };
  const ordered = overlays
    .map((overlay) => ({ overlay, name: overlay.metadata.name ?? '', weight: overlay.spec.weight ?? 0 }))
    .sort((a, b) => b.weight - a.weight || compareText(b.name, a.name));
  const drafts = nodePools.flatMap((pool) => draftsOf(pool, catalogues.get(pool.metadata.name ?? '') ?? []));
  const conflicts = new Map<string, string>();
  for (const { overlay, name, weight } of ordered) {
    const changes = changesOf(overlay, drafts);
    const clash = changes.find(({ slot }) => slot.weight === weight);
    if (clash !== undefined) conflicts.set(name, `${clash.what} is decided by ${clash.slot.by ?? ''} of equal weight`);
    else for (const { slot, apply } of changes) claim(slot, weight, name, apply);
  }
  const result = new Map<string, readonly InstanceType[]>();
  for (const pool of nodePools) {
    const name = pool.metadata.name ?? '';
    result.set(name, drafts.filter((draft) => draft.pool === name).map(finish));
  }
  return { catalogues: result, conflicts };
}

/** Who decided something, with what weight. */
interface Slot {
  weight?: number;
  by?: string;
}

interface Draft {
  readonly pool: string;
  readonly type: InstanceType;
  readonly requirements: Requirements;
  readonly prices: DraftPrice[];
  readonly capacity: Map<string, { readonly slot: Slot; amount: number }>;
}

interface DraftPrice {
  readonly slot: Slot;
  readonly offering: Offering;
  readonly requirements: Requirements;
  price?: number;
  /** The overlay names instance types and their price: one that has none otherwise can be had at it. */
  prices?: boolean;
}

interface Change {
  readonly slot: Slot;
  readonly what: string;
  readonly apply: () => void;
}

function claim(slot: Slot, weight: number, by: string, apply: () => void): void {
  if (slot.weight !== undefined) return;
  slot.weight = weight;
  slot.by = by;
  apply();
}

function draftsOf(pool: NodePool, types: readonly InstanceType[]): Draft[] {
  const own = join(templateRequirements(pool), readLabels(pool.spec.template.metadata?.labels));
  return types.map((type) => {
    const requirements = join(own, readRequirements(type.requirements));
    return {
      pool: pool.metadata.name ?? '',
      type,
      requirements,
      prices: type.offerings.map((offering) => ({
        slot: {},
        offering,
        requirements: join(requirements, readRequirements(offering.requirements)),
      })),
      capacity: new Map(),
    };
  });
}

function changesOf({ spec }: NodeOverlay, drafts: readonly Draft[]): Change[] {
  const asked = readRequirements(spec.requirements);
  const changes: Change[] = [];
  for (const draft of drafts) {
    if (!compatible(asked, draft.requirements)) continue;
    for (const [name, quantity] of Object.entries(spec.capacity ?? {})) {
      const known = draft.capacity.get(name);
      const entry = known ?? { slot: {}, amount: 0 };
      const apply = (): void => {
        entry.amount = parseResource(name, quantity);
        draft.capacity.set(name, entry);
      };
      changes.push({ slot: entry.slot, what: `${name} of ${draft.type.name} in ${draft.pool}`, apply });
    }
    if (spec.price === undefined && spec.priceAdjustment === undefined) continue;
    for (const entry of draft.prices) {
      if (!compatible(asked, entry.requirements)) continue;
      const apply = (): void => {
        entry.price = adjusted(entry.offering.price, spec.price, spec.priceAdjustment);
        entry.prices = spec.price !== undefined && namesTypes(spec.requirements);
      };
      changes.push({ slot: entry.slot, what: `the price of ${draft.type.name} in ${draft.pool}`, apply });
    }
  }
  return changes;
}

function compatible(asked: Requirements, has: Requirements): boolean {
  for (const [key, requirement] of asked) {
    const own = has.get(key);
    if (own === undefined ? !requirement.absent : isImpossible(intersect(requirement, own))) return false;
  }
  return true;
}

/** A price replaced or moved; never below zero. */
export function adjusted(price: number, replacement: string | undefined, adjustment: string | undefined): number {
  if (replacement !== undefined) return Number(replacement);
  if (adjustment === undefined) return price;
  if (!adjustment.endsWith('%')) return Math.max(0, price + Number(adjustment));
  return Math.max(0, price * (1 + Number(adjustment.slice(0, -1)) / 100));
}

function finish({ type, prices, capacity }: Draft): InstanceType {
  if (capacity.size === 0 && prices.every(({ price }) => price === undefined)) return type;
  const more = Object.fromEntries([...capacity].map(([name, { amount }]) => [name, amount]));
  return {
    ...type,
    offerings: prices.map((entry) => (entry.price === undefined ? entry.offering : repriced(entry, entry.price))),
    capacity: { ...type.capacity, ...more },
    ...(capacity.size > 0 ? { capacityOverlayApplied: true } : {}),
  };
}

function repriced({ offering, prices }: DraftPrice, price: number): Offering {
  if (offering.unpriced === true && prices === true) {
    return { requirements: offering.requirements, price, available: true, priceOverlayApplied: true };
  }
  return { ...offering, price, priceOverlayApplied: true };
}

/** Section 1.3, AWS extra: exactly one requirement, of instance types by name. */
function namesTypes(requirements: NodeOverlay['spec']['requirements']): boolean {
  const [only, ...others] = requirements;
  return others.length === 0 && only?.key === labels.instanceType && only.operator === 'In';
}
