import { annotations, labels } from '../../api/labels.js';
import type { Compiled } from '../../packing/compiled.js';
import { satisfies } from '../../packing/compile/key-space.js';
import { valuesOf, varietiesOf } from '../../packing/compile/min-values.js';
import type { Row } from '../../packing/compile/universe.js';
import { requirementOf, satisfiedBy } from '../../packing/requirements/requirement.js';
import { readRequirements } from '../../packing/requirements/requirements.js';
import { compareText } from '../../packing/compare.js';
import type { PlannedClaim } from '../../packing/types.js';

/** A replacement, and the instance types it may launch. */
interface Choice {
  readonly planned: PlannedClaim;
  readonly options: readonly Option[];
}

interface Option {
  readonly name: string;
  /** Offerings that the claim allows, cheapest first. */
  readonly rows: readonly Row[];
  /** The dearest that a launch of the type could come to (section 4.7). */
  readonly worst: number;
}

/** What the nodes that go are like, as far as replacements must differ from them. */
export interface Going {
  readonly instanceType: string;
  readonly capacityType: string;
  readonly price: number;
}

/** Types that a spot node must have to choose from when it alone is replaced by spot (section 4.7). */
const spotChoices = 15;

/** Those that are not known come last. */
const capacityOrder = ['reserved', 'spot', 'on-demand'];

/** Decides what replacements may launch, so that however the launch goes the fleet gets cheaper (sections 4.7, 4.8). */
export class LaunchOptions {
  /** Whether some NodePool can launch spot at all. */
  readonly offersSpot: boolean;
  private readonly rowsOf = new Map<string, Map<string, Row[]>>();

  constructor(
    private readonly compiled: Compiled,
    private readonly spotToSpot: boolean,
  ) {
    this.offersSpot = compiled.universe.rows.some(({ capacityType }) => capacityType === 'spot');
    for (const row of compiled.universe.rows) {
      const pool = row.profile.pool.name;
      let byType = this.rowsOf.get(pool);
      if (byType === undefined) this.rowsOf.set(pool, (byType = new Map<string, Row[]>()));
      const there = byType.get(row.type.name);
      if (there === undefined) byType.set(row.type.name, [row]);
      else there.push(row);
    }
  }

  /**
   * The claims cut to types whose worst launch price keeps their sum below what goes, pinned to spot where both capacity types
   * are open; undefined when that leaves a claim nothing.
   */
  decide(claims: readonly PlannedClaim[], going: readonly Going[]): PlannedClaim[] | undefined {
    const spotOnly = going.every(({ capacityType }) => capacityType === 'spot');
    const choices: Choice[] = [];
    for (const planned of claims) {
      const allowsSpot = this.capacityTypes(planned).includes('spot');
      if (spotOnly && allowsSpot && !this.spotToSpot) return undefined;
      const choice = this.choicesFor(planned, allowsSpot);
      if (choice.options.length === 0) return undefined;
      choices.push(choice);
    }
    const cut = this.cutToSavings(choices, going);
    if (cut === undefined) return undefined;
    if (spotOnly && going.length === 1 && this.spotToSpot && cut.some(isSpot)) return truncated(cut);
    return cut.map(written);
  }

  private capacityTypes({ requirements }: PlannedClaim): string[] {
    const test = readRequirements(requirements).get(labels.capacityType);
    return capacityOrder.filter((type) => test === undefined || satisfiedBy(test, type));
  }

  private choicesFor(planned: PlannedClaim, allowsSpot: boolean): Choice {
    const given = readRequirements(planned.requirements);
    const constraint = this.compiled.space.probe(given);
    const zone = given.get(labels.zone);
    const capacity = given.get(labels.capacityType);
    // Where spot runs out, a claim that is open to on-demand would become dearer: it must not be.
    const pinned = allowsSpot && this.capacityTypes(planned).includes('on-demand');
    const byType = this.rowsOf.get(planned.nodePool);
    const options: Option[] = [];
    for (const name of planned.instanceTypes) {
      const rows = (byType?.get(name) ?? []).filter(
        (row) =>
          (zone === undefined || satisfiedBy(zone, row.zone)) &&
          (capacity === undefined || satisfiedBy(capacity, row.capacityType)) &&
          (!pinned || row.capacityType !== 'on-demand') &&
          satisfies(constraint, row.profile.values),
      );
      if (rows.length === 0) continue;
      rows.sort((a, b) => a.offering.price - b.offering.price || compareText(a.zone, b.zone));
      options.push({ name, rows, worst: worstPrice(rows) });
    }
    options.sort((a, b) => a.rows[0]!.offering.price - b.rows[0]!.offering.price || compareText(a.name, b.name));
    return { planned: pinned ? pinnedToSpot(planned) : planned, options };
  }

  /** Whether the types left have fewer different values than the claim asks for (section 2.5). */
  private isTooUniform(planned: PlannedClaim, options: readonly Option[]): boolean {
    const relaxed = planned.annotations[annotations.minValuesRelaxed] === 'true';
    const pool = this.compiled.pools.find(({ name }) => name === planned.nodePool);
    const varieties = varietiesOf(
      relaxed || pool === undefined ? readRequirements(planned.requirements) : pool.requirements,
    );
    return varieties.some((variety) => {
      const values = new Set(options.flatMap(({ rows }) => valuesOf(rows[0]!.type, variety)));
      return values.size < variety.atLeast;
    });
  }

  private cutToSavings(choices: readonly Choice[], going: readonly Going[]): Choice[] | undefined {
    const total = going.reduce((sum, { price }) => sum + price, 0);
    const least = choices.map(({ options }) => Math.min(...options.map(({ worst }) => worst)));
    const sum = least.reduce((a, b) => a + b, 0);
    if (sum >= total) return undefined;
    const cut: Choice[] = [];
    for (const [i, { planned, options }] of choices.entries()) {
      // What is left of the saving is shared out, so that not all claims together can use it up.
      const most = choices.length === 1 ? total : least[i]! * (total / sum);
      let kept = options.filter(({ worst }) => worst < most);
      if (going.length > 1) kept = withoutSameType(kept, going);
      if (kept.length === 0 || this.isTooUniform(planned, kept)) return undefined;
      cut.push({ planned, options: kept });
    }
    return cut;
  }
}

/** Of the first capacity type that is offered, the dearest offering (section 4.7). */
function worstPrice(rows: readonly Row[]): number {
  let first = Infinity;
  let worst = 0;
  for (const { capacityType, offering } of rows) {
    const known = capacityOrder.indexOf(capacityType);
    const rank = known < 0 ? capacityOrder.length : known;
    if (rank > first) continue;
    worst = rank < first ? offering.price : Math.max(worst, offering.price);
    first = rank;
  }
  return worst;
}

/** Replacing a node by one of its own type only counts where it is cheaper than the cheapest of that type (section 4.8). */
function withoutSameType(options: readonly Option[], going: readonly Going[]): Option[] {
  let most = Infinity;
  const names = new Set(options.map(({ name }) => name));
  for (const { instanceType, price } of going) if (names.has(instanceType) && price < most) most = price;
  return options.filter(({ worst }) => worst < most);
}

function pinnedToSpot(planned: PlannedClaim): PlannedClaim {
  const others = planned.requirements.filter(({ key }) => key !== labels.capacityType);
  const own = planned.requirements.find(({ key }) => key === labels.capacityType);
  const both = requirementOf(
    'In',
    capacityOrder.filter((type) => type !== 'on-demand'),
  );
  const allowed =
    own === undefined
      ? both
      : requirementOf(
          'In',
          (own.values ?? []).filter((type) => type !== 'on-demand'),
        );
  const pin = { key: labels.capacityType, operator: 'In' as const, values: [...allowed.values] };
  return { ...planned, requirements: [...others, pin].sort((a, b) => compareText(a.key, b.key)) };
}

const isSpot = ({ options }: Choice): boolean => options.some(({ rows }) => rows[0]!.capacityType === 'spot');

/** Fewer choices would make the next spot node of the same kind a candidate again at once. */
function truncated(cut: readonly Choice[]): PlannedClaim[] | undefined {
  if (cut.some(({ options }) => options.length < spotChoices)) return undefined;
  return cut.map(({ planned, options }) => {
    const needed = Math.max(spotChoices, ...planned.requirements.map(({ minValues = 0 }) => minValues));
    return written({ planned, options: options.slice(0, needed) });
  });
}

function written({ planned, options }: Choice): PlannedClaim {
  const row = options[0]!.rows[0]!;
  return {
    ...planned,
    instanceTypes: options.map(({ name }) => name),
    cheapest: {
      instanceType: row.type.name,
      zone: row.zone,
      capacityType: row.capacityType,
      pricePerHour: row.offering.price,
    },
  };
}
