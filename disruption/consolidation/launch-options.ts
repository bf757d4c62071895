import { annotations, labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import { verb } from '../../core/plurals.js';
import { readRequirements } from '../../packing/requirements/requirements.js';
import { satisfiedBy } from '../../packing/requirements/requirement.js';
import type { Launches, Way } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';

/** A replacement, and the instance types it may launch. */
interface Choice {
  readonly planned: PlannedClaim;
  readonly options: readonly Option[];
}

interface Option {
  readonly name: string;
  readonly cheapest: Way;
  /** The dearest that a launch of the type could come to (consolidation/no-dearer-launch). */
  readonly worst: number;
}

/** What the nodes that go are like, as far as replacements must differ from them. */
export interface Going {
  readonly instanceType: string;
  readonly capacityType: string;
  readonly price: number;
}

/** Types that a spot node must have to choose from when it alone is replaced by spot (consolidation/spot-to-spot). */
const spotChoices = 15;

/** Why nothing is launched for nodes that go, in a person's words. */
export const spotForSpot = 'a spot node is replaced by spot only with feature gate SpotToSpotConsolidation';
const noneCheaper = 'no instance type is sure to be cheaper however the launch goes';
const tooUniform = 'fewer instance types are cheaper than minValues of its NodePool asks for';
const tooFewForSpot = (found: number): string =>
  `a spot node is replaced by spot only where ${spotChoices} cheaper instance types are to choose from, and there ${verb(found, 'is', 'are')} ${found}`;

/** Those that are not known come last. */
const capacityOrder = ['reserved', 'spot', 'on-demand'];

/** Decides what replacements may launch, so that however the launch goes the fleet gets cheaper (consolidation/no-dearer-launch, consolidation/same-type). */
export class LaunchOptions {
  /** Whether some NodePool can launch spot at all. */
  readonly offersSpot: boolean;
  /** By NodePool and requirements: the options that types are, which many claims share. */
  private readonly known = new Map<string, (type: string) => Option | undefined>();

  constructor(
    private readonly launches: Launches,
    private readonly spotToSpot: boolean,
  ) {
    this.offersSpot = launches.offers('spot');
  }

  /**
   * The claims cut to types whose worst launch price keeps their sum below what goes, pinned to spot where both capacity types
   * are open; undefined when that leaves a claim nothing. Nodes that go alone are not spot only where they are to be `isAccompanied`
   * by others on demand.
   */
  decide(claims: readonly PlannedClaim[], going: readonly Going[], isAccompanied = false): PlannedClaim[] | undefined {
    const chosen = this.choose(claims, going, isAccompanied);
    return typeof chosen === 'string' ? undefined : chosen;
  }

  /** Why `decide` leaves a claim nothing, in a person's words; undefined where it does not. */
  whyNone(claims: readonly PlannedClaim[], going: readonly Going[], isAccompanied = false): string | undefined {
    const chosen = this.choose(claims, going, isAccompanied);
    return typeof chosen === 'string' ? chosen : undefined;
  }

  /** The claims, or why there are none. */
  private choose(
    claims: readonly PlannedClaim[],
    going: readonly Going[],
    isAccompanied: boolean,
  ): PlannedClaim[] | string {
    const spotOnly = !isAccompanied && going.every(({ capacityType }) => capacityType === 'spot');
    const choices: Choice[] = [];
    for (const planned of claims) {
      const allowsSpot = this.capacityTypes(planned).includes('spot');
      if (spotOnly && allowsSpot && !this.spotToSpot) return spotForSpot;
      const choice = this.choicesFor(planned, allowsSpot);
      if (choice.options.length === 0) return noneCheaper;
      choices.push(choice);
    }
    const cut = this.cutToSavings(choices, going);
    if (typeof cut === 'string') return cut;
    if (spotOnly && going.length === 1 && this.spotToSpot && cut.some(isSpot)) return this.truncated(cut);
    return cut.map(written);
  }

  private capacityTypes({ requirements }: PlannedClaim): string[] {
    const test = readRequirements(requirements).get(labels.capacityType);
    return capacityOrder.filter((type) => test === undefined || satisfiedBy(test, type));
  }

  private choicesFor(planned: PlannedClaim, allowsSpot: boolean): Choice {
    // Where spot runs out, a claim that is open to on-demand would become dearer: it must not be.
    const pinned = allowsSpot && this.capacityTypes(planned).includes('on-demand');
    const optionOf = this.optionsUnder(planned, pinned);
    const options: Option[] = [];
    for (const type of planned.instanceTypes) {
      const option = optionOf(type);
      if (option !== undefined) options.push(option);
    }
    options.sort((a, b) => a.cheapest.price - b.cheapest.price || compareText(a.name, b.name));
    return { planned: pinned ? pinnedToSpot(planned) : planned, options };
  }

  private optionsUnder(
    { nodePool, requirements, cheapest: planned }: PlannedClaim,
    pinned: boolean,
  ): (type: string) => Option | undefined {
    const key = JSON.stringify([pinned, nodePool, requirements, planned.commitment]);
    let optionOf = this.known.get(key);
    if (optionOf === undefined) {
      const options = new Map<string, Option | undefined>();
      const waysOf = this.launches.waysUnder({ nodePool, requirements, cheapest: planned });
      optionOf = (type) => {
        if (!options.has(type)) options.set(type, optionIn(type, waysOf(type), pinned));
        return options.get(type);
      };
      this.known.set(key, optionOf);
    }
    return optionOf;
  }

  /** Whether the types left have fewer different values than the claim asks for (min-values/at-replacement). */
  private isTooUniform(planned: PlannedClaim, options: readonly Option[]): boolean {
    const relaxed = planned.annotations[annotations.minValuesRelaxed] === 'true';
    const names = options.map(({ name }) => name);
    return this.launches.areTooUniform(planned, relaxed, names);
  }

  /**
   * The cheapest types, as few as keep the next spot node from being a candidate again at once, and as many as come to the values that
   * the claim asks for.
   */
  private truncated(cut: readonly Choice[]): PlannedClaim[] | string {
    const fewest = Math.min(...cut.map(({ options }) => options.length));
    if (fewest < spotChoices) return tooFewForSpot(fewest);
    return cut.map(({ planned, options }) => {
      let needed = spotChoices;
      while (needed < options.length && this.isTooUniform(planned, options.slice(0, needed))) needed++;
      return written({ planned, options: options.slice(0, needed) });
    });
  }

  private cutToSavings(choices: readonly Choice[], going: readonly Going[]): Choice[] | string {
    const total = going.reduce((sum, { price }) => sum + price, 0);
    const least = choices.map(({ options }) => Math.min(...options.map(({ worst }) => worst)));
    const sum = least.reduce((a, b) => a + b, 0);
    if (sum >= total) return noneCheaper;
    const cut: Choice[] = [];
    for (const [i, { planned, options }] of choices.entries()) {
      // What is left of the saving is shared out, so that not all claims together can use it up.
      const most = choices.length === 1 ? total : least[i]! * (total / sum);
      let kept = options.filter(({ worst }) => worst < most);
      if (going.length > 1) kept = withoutSameType(kept, going);
      if (kept.length === 0) return noneCheaper;
      if (this.isTooUniform(planned, kept)) return tooUniform;
      cut.push({ planned, options: kept });
    }
    return cut;
  }
}

/** The type as an option, of spot alone where claims are pinned to it; undefined where nothing of it is open. */
function optionIn(name: string, all: readonly Way[], pinned: boolean): Option | undefined {
  const ways = pinned ? all.filter(({ capacityType }) => capacityType !== 'on-demand') : all;
  const [first] = ways;
  if (first === undefined) return undefined;
  const cheapest = ways.reduce((best, way) => (isBefore(way, best) ? way : best), first);
  return { name, cheapest, worst: worstPrice(ways) };
}

const isBefore = (a: Way, b: Way): boolean => a.price < b.price || (a.price === b.price && a.zone < b.zone);

/** Of the first capacity type that is offered, the dearest offering (consolidation/no-dearer-launch). */
function worstPrice(ways: readonly Way[]): number {
  let first = Infinity;
  let worst = 0;
  for (const { capacityType, price } of ways) {
    const known = capacityOrder.indexOf(capacityType);
    const rank = known < 0 ? capacityOrder.length : known;
    if (rank > first) continue;
    worst = rank < first ? price : Math.max(worst, price);
    first = rank;
  }
  return worst;
}

/** Replacing a node by one of its own type only counts where it is cheaper than the cheapest of that type (consolidation/same-type). */
function withoutSameType(options: readonly Option[], going: readonly Going[]): Option[] {
  let most = Infinity;
  const names = new Set(options.map(({ name }) => name));
  for (const { instanceType, price } of going) if (names.has(instanceType) && price < most) most = price;
  return options.filter(({ worst }) => worst < most);
}

function pinnedToSpot(planned: PlannedClaim): PlannedClaim {
  const others = planned.requirements.filter(({ key }) => key !== labels.capacityType);
  const own = planned.requirements.find(({ key }) => key === labels.capacityType);
  const values = (own?.values ?? capacityOrder).filter((type) => type !== 'on-demand').sort(compareText);
  const pin = { key: labels.capacityType, operator: 'In' as const, values };
  return { ...planned, requirements: [...others, pin].sort((a, b) => compareText(a.key, b.key)) };
}

const isSpot = ({ options }: Choice): boolean => options.some(({ cheapest }) => cheapest.capacityType === 'spot');

function written({ planned, options }: Choice): PlannedClaim {
  const { name, cheapest } = options[0]!;
  return {
    ...planned,
    instanceTypes: options.map((option) => option.name),
    cheapest: {
      instanceType: name,
      zone: cheapest.zone,
      capacityType: cheapest.capacityType,
      pricePerHour: cheapest.price,
      ...(planned.cheapest.commitment === undefined ? {} : { commitment: planned.cheapest.commitment }),
    },
  };
}
