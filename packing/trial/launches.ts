import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Compiled } from '../compile/compiled.js';
import { openRows } from '../compile/launchables.js';
import { meetsMinValues, minValuesRulesOf } from '../compile/min-values.js';
import type { CompiledNode } from '../compile/nodes.js';
import type { Row } from '../compile/universe.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { NodeState } from '../place/node-states.js';
import { readRequirements } from '../requirements/requirements.js';
import type { PlannedClaim } from '../types.js';

/** An offering under which a claim may be launched. */
export interface Way {
  readonly zone: string;
  readonly capacityType: string;
  /** Dollars per hour. */
  readonly price: number;
}

/** What claims may launch, and the nodes that result. */
export class Launches {
  private readonly rowsOf = new Map<string, Map<string, Row[]>>();

  constructor(private readonly compiled: Compiled) {
    for (const row of compiled.universe.rows) {
      const pool = row.profile.pool.name;
      let byType = this.rowsOf.get(pool);
      if (byType === undefined) this.rowsOf.set(pool, (byType = new Map<string, Row[]>()));
      const there = byType.get(row.type.name);
      if (there === undefined) byType.set(row.type.name, [row]);
      else there.push(row);
    }
  }

  /** Whether some NodePool can launch this capacity type. */
  offers(capacityType: string): boolean {
    return this.compiled.universe.rows.some((row) => row.capacityType === capacityType);
  }

  /** The offerings of a type that the claim's pool and requirements allow. */
  waysUnder(claim: Pick<PlannedClaim, 'nodePool' | 'requirements' | 'cheapest'>): (type: string) => Way[] {
    const rowsUnder = this.rowsUnder(claim);
    return (type) =>
      rowsUnder(type).map(({ zone, capacityType, offering: { price } }) => ({ zone, capacityType, price }));
  }

  /** The cheapest current row of the claim; undefined if one of its types is no longer offered. */
  cheapestRow(claim: Pick<PlannedClaim, 'nodePool' | 'requirements' | 'instanceTypes' | 'cheapest'>): Row | undefined {
    const rowsUnder = this.rowsUnder(claim);
    const { rank } = this.compiled.universe;
    let cheapest: Row | undefined;
    for (const type of claim.instanceTypes) {
      const rows = rowsUnder(type);
      if (rows.length === 0) return undefined;
      for (const row of rows) if (cheapest === undefined || rank[row.index]! < rank[cheapest.index]!) cheapest = row;
    }
    return cheapest;
  }

  /** A claim planned under a commitment is launched under it, any other claim under none. */
  private rowsUnder({
    nodePool,
    requirements,
    cheapest,
  }: Pick<PlannedClaim, 'nodePool' | 'requirements' | 'cheapest'>): (type: string) => Row[] {
    const { row: isOpen } = openRows(this.compiled.space, readRequirements(requirements));
    const byType = this.rowsOf.get(nodePool);
    return (type) =>
      (byType?.get(type) ?? []).filter((row) => row.offering.commitment?.name === cheapest.commitment && isOpen(row));
  }

  /**
   * Whether these types have fewer different values than the minValues of the claim's pool (min-values/at-replacement).
   */
  missMinValues(claim: PlannedClaim, relaxed: boolean, types: readonly string[]): boolean {
    const pool = this.compiled.pools.find(({ name }) => name === claim.nodePool);
    const rules = minValuesRulesOf(
      relaxed || pool === undefined ? readRequirements(claim.requirements) : pool.requirements,
    );
    if (rules.length === 0) return false;
    const byType = this.rowsOf.get(claim.nodePool);
    const listed: InstanceType[] = types.flatMap((name) => byType?.get(name)?.[0]?.type ?? []);
    return !rules.every((rule) => meetsMinValues(listed, rule));
  }

  /** The row that a claim is launched as: its cheapest offering. */
  rowFor({ row }: OpenClaim, { cheapest }: PlannedClaim): Row {
    const own = this.compiled.universe.rows[row]!;
    const { pool, reservation } = own.profile;
    // The cheapest listed offering may belong to another profile than the row that was bought.
    return (
      this.rowsOf
        .get(pool.name)
        ?.get(cheapest.instanceType)
        ?.find(
          ({ zone, capacityType, offering, profile }) =>
            zone === cheapest.zone &&
            capacityType === cheapest.capacityType &&
            offering.price === cheapest.pricePerHour &&
            (profile.reservation ?? '') === (reservation ?? ''),
        ) ?? own
    );
  }

  /** A new node of this row with only its daemons. */
  blank(row: Row, name: string, index: number): NodeState {
    const { profile } = row;
    const { pool } = profile;
    const { daemons, overhead, daemonPorts } = this.compiled.offers.of(profile);
    const view: CompiledNode = {
      name,
      labels: {
        [labels.nodePool]: pool.name,
        [labels.instanceType]: row.type.name,
        [labels.zone]: row.zone,
        [labels.capacityType]: row.capacityType,
        [labels.hostname]: name,
      },
      taints: pool.taints,
      initialized: true,
      deleting: false,
      allocatable: {},
    };
    return {
      index,
      view,
      free: this.compiled.offers.allocatable(row.type).map((amount, d) => amount - overhead[d]!),
      kind: { index: -1 - index, values: profile.values, taints: pool.taints },
      ports: [...daemonPorts],
      pods: [],
      host: name,
      uncounted: daemons,
      attach: undefined,
    };
  }
}
