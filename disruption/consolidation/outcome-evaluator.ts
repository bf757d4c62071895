import { isBalanced } from './balanced.js';
import type { ChangingFleet } from './changing-fleet.js';
import { type FleetNode, hasOnDemand, priceOfAll, roundingError } from './fleet.js';
import { LaunchOptions, spotToSpotIsOff } from './launch-options.js';
import { type DecidedOutcome, type Outcome, priceOfPlanned } from './outcome.js';
import type { Pays } from './plan.js';
import { Rejections } from './rejections.js';

/**
 * The least saving of replacements, as a share of the price that they replace. Evicted pods are created again under
 * other names, and kube-scheduler places them by its own scores: if several nodes are planned to be filled completely,
 * some pods have no room, and the nodes launched for them use up a small saving. The share is higher if there are more
 * nodes than before.
 */
function leastShare(launches: number, candidates: number): number {
  if (launches > candidates) return 0.25;
  return launches > 1 ? 0.1 : 0.01;
}

/**
 * Whether a node in a reservation is replaced by another reservation. Both are paid for, and their prices only define
 * an order, so that any saving is negligible compared with volumes and addresses.
 */
const isBetweenReservations = (candidates: readonly Priced[], launches: readonly Priced[]): boolean =>
  launches.length === 1 && candidates.length === 1 && [...candidates, ...launches].every(isReserved);

type Priced = Pick<FleetNode, 'capacityType'>;

/** The reason for a node that stays if no other is known. */
const nothingCheaper = 'there is no cheaper place for its pods';

/** Decides whether an outcome is allowed and saves enough. */
export class OutcomeEvaluator {
  readonly rejections = new Rejections();
  private readonly options: LaunchOptions;

  constructor(private readonly fleet: ChangingFleet) {
    this.options = new LaunchOptions(fleet.simulation.trial.launches, !fleet.requiresOnDemand);
  }

  /** Why there is no command for this node alone, in words. */
  whyRejected(node: string): string {
    return this.rejections.of(node)?.why ?? nothingCheaper;
  }

  /** Whether spot can be launched at all. */
  get offersSpot(): boolean {
    return this.options.offersSpot;
  }

  readonly pays: Pays = (outcome, isAccompanied) =>
    this.decide(outcome, isAccompanied === true && this.fleet.requiresOnDemand) !== undefined;

  /**
   * The outcome of removing these nodes, if it is allowed and saves enough; it stays applied until it is undone or
   * settled. A single replacement is taken if several are not allowed (consolidation/several-nodes), save too little, or
   * no more than it does. Commands that save less than `least`, dollars per hour, are not searched.
   */
  evaluate(candidates: readonly FleetNode[], units: number, least = 0): DecidedOutcome | undefined {
    const most = priceOfAll(candidates) - least;
    const { simulation } = this.fleet;
    const { attempts } = simulation;
    const several = this.allowed(attempts.byPlacing(candidates, { search: { units, most }, most }));
    if (several?.launches.length === 0) return several;
    const changes = several === undefined ? [] : simulation.undo();
    const single = this.allowed(attempts.onOneNode(candidates, several === undefined ? most : priceOfPlanned(several)));
    if (single === undefined) simulation.redo(changes);
    return single ?? several;
  }

  /** The outcome if it is allowed and saves enough; otherwise it is undone. */
  private allowed(outcome: Outcome | undefined): DecidedOutcome | undefined {
    const decided = outcome && this.decide(outcome);
    if (outcome !== undefined && decided === undefined) this.fleet.simulation.undo();
    return decided;
  }

  /**
   * The outcome as a command, if allowed. `isAccompanied`: on-demand nodes go with it, so that spot may be launched.
   */
  decide(outcome: Outcome, isAccompanied = false): DecidedOutcome | undefined {
    const { candidates, launches } = outcome;
    const gain = priceOfAll(candidates);
    const least = this.leastFor(outcome);
    if (launches.length === 0) {
      const pays = this.isWorth(candidates, gain, gain) && !this.isTooLittle(candidates, gain, least);
      return pays ? { ...outcome, planned: [] } : undefined;
    }
    const hoped = gain - priceOfAll(launches);
    const isForbidden = !isAccompanied && this.isSpotForSpot(outcome);
    if (this.isTooLittle(candidates, hoped, least)) return undefined;
    if (isForbidden) {
      this.rejections.note(candidates, hoped, () => spotToSpotIsOff);
      return undefined;
    }
    const described = this.fleet.simulation.describe(outcome);
    const planned = described && this.options.decide(described, candidates, isAccompanied);
    if (planned === undefined) {
      this.rejections.note(
        candidates,
        hoped,
        () =>
          (described && this.options.whyNone(described, candidates, isAccompanied)) ?? 'there is no place for its pods',
      );
      return undefined;
    }
    const saving = gain - priceOfPlanned({ planned });
    if (this.isTooLittle(candidates, saving, least) || !this.isWorth(candidates, gain, saving)) return undefined;
    return { ...outcome, planned };
  }

  /** The least saving of the outcome, for the pods that it moves and the nodes that it launches, dollars per hour. */
  leastFor({ candidates, launches }: Outcome): number {
    if (isBetweenReservations(candidates, launches)) return 0;
    const disruption = this.fleet.simulation.disruptionOf(candidates);
    if (launches.length === 0) return disruption;
    const share = priceOfAll(candidates) * leastShare(launches.length, candidates.length);
    const { leastSplitShare = 0, leastAgainShare = 0, movedTo } = this.fleet.input;
    const splits = launches.length > candidates.length ? leastSplitShare : 0;
    const again = candidates.some(({ name }) => movedTo?.has(name)) ? leastAgainShare : 0;
    return Math.max(share, disruption, Math.max(splits, again) * this.fleet.averagePrice());
  }

  isTooLittle(candidates: readonly FleetNode[], saving: number, least: number): boolean {
    if (saving > least) return false;
    const of = (): string =>
      saving <= roundingError
        ? nothingCheaper
        : `it would save ${dollars(saving)} of ${dollars(priceOfAll(candidates))} an hour, and must save more than ${dollars(least)} for what it disturbs`;
    this.rejections.note(candidates, saving, of);
    return true;
  }

  /** Whether the policies of the NodePools accept this saving for this disruption. */
  isWorth(candidates: readonly FleetNode[], gain: number, saving: number): boolean {
    if (saving <= roundingError) return false;
    for (const pool of new Set(candidates.map(({ nodePool }) => nodePool))) {
      const least = this.fleet.input.leastSavings?.get(pool);
      if (least === undefined || (saving >= gain * least.share - roundingError && saving >= least.dollarsPerHour))
        continue;
      const asked = `${Math.round(least.share * 100)}% and ${dollars(least.dollarsPerHour)}`;
      this.rejections.note(
        candidates,
        saving,
        () => `it would save ${dollars(saving)} of ${dollars(gain)} an hour; NodePool ${pool} asks for ${asked}`,
      );
      return false;
    }
    if (isBalanced(this.fleet.counted(), candidates, saving)) return true;
    this.rejections.note(candidates, saving, () => 'consolidationPolicy: Balanced finds it not worth its disruption');
    return false;
  }

  isSpotForSpot({ candidates, launches }: Pick<Outcome, 'candidates' | 'launches'>): boolean {
    if (!this.fleet.requiresOnDemand || !launches.some(isSpot)) return false;
    return !hasOnDemand(candidates);
  }
}

const dollars = (amount: number): string => `${String(Math.round(amount * 1e4) / 1e4)} USD`;

const isReserved = ({ capacityType }: Priced): boolean => capacityType === 'reserved';

const isSpot = ({ capacityType }: { readonly capacityType: string }): boolean => capacityType === 'spot';
