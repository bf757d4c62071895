import { annotations, capacityTypes, labels } from '../../api/labels.js';
import { compareText, verb } from '../../core/text.js';
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
  /** The highest price at which the type could be launched (consolidation/no-dearer-launch). */
  readonly worst: number;
}

/** The properties of a candidate from which replacements must differ. */
export interface CandidateOffering {
  readonly instanceType: string;
  readonly capacityType: string;
  readonly price: number;
}

/** Why candidates have no replacement, in words. */
const noneCheaper = 'no instance type is certain to be cheaper, whichever offering the launch gets';
const tooFewValues = 'the cheaper instance types are fewer than minValues of its NodePool asks for';

const capacityOrder: readonly string[] = capacityTypes;

/**
 * Restricts what replacements may launch, so that the fleet becomes cheaper whichever offering is launched
 * (consolidation/no-dearer-launch, consolidation/same-type).
 */
export class LaunchOptions {
  /** Whether some NodePool can launch spot at all. */
  readonly offersSpot: boolean;
  /** Options of types by NodePool and requirements; many NodeClaims share them. */
  private readonly known = new Map<string, (type: string) => Option | undefined>();

  constructor(
    private readonly launches: Launches,
    private readonly spotToSpot: boolean,
  ) {
    this.offersSpot = launches.offers('spot');
  }

  /**
   * The NodeClaims with only the types for which the sum of the highest launch prices is below the price of the
   * candidates; restricted to spot if spot and on-demand are allowed. Undefined if a NodeClaim has no type left.
   * `isAccompanied`: the candidates are not only spot, because on-demand nodes go with them.
   */
  decide(
    claims: readonly PlannedClaim[],
    going: readonly CandidateOffering[],
    isAccompanied = false,
  ): PlannedClaim[] | undefined {
    const chosen = this.choose(claims, going, isAccompanied);
    return typeof chosen === 'string' ? undefined : chosen;
  }

  /** Why `decide` leaves a NodeClaim without types, in words; undefined if it does not. */
  whyNone(
    claims: readonly PlannedClaim[],
    going: readonly CandidateOffering[],
    isAccompanied = false,
  ): string | undefined {
    const chosen = this.choose(claims, going, isAccompanied);
    return typeof chosen === 'string' ? chosen : undefined;
  }

  /** The restricted NodeClaims, or why there are none. */
  private choose(
    claims: readonly PlannedClaim[],
    going: readonly CandidateOffering[],
    isAccompanied: boolean,
  ): PlannedClaim[] | string {
    const spotOnly = !isAccompanied && going.every(({ capacityType }) => capacityType === 'spot');
    const choices: Choice[] = [];
    for (const planned of claims) {
      const allowsSpot = this.capacityTypes(planned).includes('spot');
      if (spotOnly && allowsSpot && !this.spotToSpot) return spotToSpotIsOff;
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
    // If spot is not available, a NodeClaim open to on-demand would launch at a higher price.
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

  /** Whether the remaining types have fewer values than minValues requires (min-values/at-replacement). */
  private missesMinValues(planned: PlannedClaim, options: readonly Option[]): boolean {
    const relaxed = planned.annotations[annotations.minValuesRelaxed] === 'true';
    const names = options.map(({ name }) => name);
    return this.launches.missMinValues(planned, relaxed, names);
  }

  /** The cheapest types of each replacement (consolidation/spot-to-spot). */
  private truncated(cut: readonly Choice[]): PlannedClaim[] | string {
    const fewest = Math.min(...cut.map(({ options }) => options.length));
    const why = whyNoSpotToSpot(fewest);
    if (why !== undefined) return why;
    return cut.map(({ planned, options }) => {
      const types = typesOfSpotToSpot(options.length, (count) =>
        this.missesMinValues(planned, options.slice(0, count)),
      );
      return written({ planned, options: options.slice(0, types) });
    });
  }

  private cutToSavings(choices: readonly Choice[], going: readonly CandidateOffering[]): Choice[] | string {
    const total = going.reduce((sum, { price }) => sum + price, 0);
    const least = choices.map(({ options }) => Math.min(...options.map(({ worst }) => worst)));
    const sum = least.reduce((a, b) => a + b, 0);
    const cut: Choice[] = [];
    for (const [i, { planned, options }] of choices.entries()) {
      // The saving is divided among the NodeClaims, so that together they cannot use it up.
      const most = choices.length === 1 ? total : least[i]! * (total / sum);
      const kept = withoutSameType(
        options.filter(({ worst }) => worst < most),
        going,
      );
      if (kept.length === 0) return noneCheaper;
      if (this.missesMinValues(planned, kept)) return tooFewValues;
      cut.push({ planned, options: kept });
    }
    return cut;
  }
}

/** The type as an option, only its spot offerings if `pinned`; undefined if it has no allowed offering. */
function optionIn(name: string, all: readonly Way[], pinned: boolean): Option | undefined {
  const ways = pinned ? all.filter(({ capacityType }) => capacityType !== 'on-demand') : all;
  const [first] = ways;
  if (first === undefined) return undefined;
  const cheapest = ways.reduce((best, way) => (isBefore(way, best) ? way : best), first);
  return { name, cheapest, worst: worstPrice(ways) };
}

const isBefore = (a: Way, b: Way): boolean => a.price < b.price || (a.price === b.price && a.zone < b.zone);

/** The most expensive offering of the first capacity type that is available (consolidation/no-dearer-launch). */
function worstPrice(ways: readonly Way[]): number {
  let first = Infinity;
  let worst = 0;
  for (const { capacityType, price } of ways) {
    const known = capacityOrder.indexOf(capacityType);
    // Unknown capacity types come last.
    const rank = known < 0 ? capacityOrder.length : known;
    if (rank > first) continue;
    worst = rank < first ? price : Math.max(worst, price);
    first = rank;
  }
  return worst;
}

/**
 * Replacing a node by the same type is allowed only below the price of the cheapest candidate of that type
 * (consolidation/same-type).
 */
function withoutSameType(options: readonly Option[], going: readonly CandidateOffering[]): Option[] {
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
  const { instanceType, zone, capacityType } = planned.cheapest;
  const isPlanned = name === instanceType && cheapest.zone === zone && cheapest.capacityType === capacityType;
  const why = `${name} in ${cheapest.zone} (${cheapest.capacityType}) is the cheapest type that may replace the nodes`;
  return {
    ...planned,
    ...(isPlanned ? {} : { why }),
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

/** How many types a replacement needs if a single spot node is replaced by spot (consolidation/spot-to-spot). */
const leastTypes = 15;

/** Why spot nodes are not replaced by spot, in words. */
export const spotToSpotIsOff = 'a spot node is replaced by spot only with feature gate SpotToSpotConsolidation';

/** Why a single spot node is not replaced by spot of these types, in words; undefined if there are enough of them. */
export function whyNoSpotToSpot(types: number): string | undefined {
  if (types >= leastTypes) return undefined;
  return `a spot node is replaced by spot only if at least ${leastTypes} cheaper instance types can be used, and there ${verb(types, 'is', 'are')} ${types}`;
}

/**
 * How many of the cheapest types the replacement lists: so few that the new spot node is not a candidate again at once,
 * and so many that `minValues` is met. `missesMinValues`: whether this number of types does not meet it.
 */
export function typesOfSpotToSpot(available: number, missesMinValues: (types: number) => boolean): number {
  let types = leastTypes;
  while (types < available && missesMinValues(types)) types++;
  return types;
}
