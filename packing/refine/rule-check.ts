import { selectsOwn } from '../place/host-rules.js';
import type { Group } from '../topology/groups.js';
import type { Rules } from '../topology/rules.js';
import type { Board } from './board.js';
import { AffinityCycles, type ClassOnNode } from './affinity-cycles.js';

/** Rules that do not hold as counts are. */
export interface Broken {
  /** With the least count of each; affinity has none. */
  readonly wrong: ReadonlyMap<string, number>;
  /** They hold if pods come one after the other: those who have the rule before those whom it selects besides. */
  readonly inTurn: ReadonlySet<string>;
}

/** Which topology rules do not hold for the pods that are placed: others may have come or gone since each was let in. */
export class RuleCheck {
  private readonly cycles: AffinityCycles;

  /** @param required the rules of every kind of pod with nothing preferred any more */
  constructor(
    private readonly board: Board,
    required: readonly Rules[],
  ) {
    this.cycles = new AffinityCycles(required);
  }

  /** Spread and affinity that do not hold as counts are now, with the least count of each. */
  broken(): Broken {
    const { ledger } = this.board.context;
    const wrong = new Map<string, number>();
    const inTurn = new Set<string>();
    const look = (group: Group, own: boolean, domain: string | undefined): void => {
      if (domain === undefined) return;
      const text = `${group.index} ${domain}`;
      if (group.kind === 'affinity' && !ledger.meetsHostAffinity(group, domain)) {
        if (ledger.mayBegin(group, domain)) inTurn.add(text);
        else wrong.set(text, -1);
      }
      if (group.kind === 'spread' && own && ledger.count(group, domain) - ledger.least(group) > group.maxSkew) {
        if (ledger.keepsSkewInTurn(group, domain)) inTurn.add(text);
        else wrong.set(text, ledger.least(group));
      }
    };
    const seen = new Set<string>();
    const onNodes: ClassOnNode[] = [];
    this.eachStay((rules, domainOf, pods) => {
      if (this.cycles.any) onNodes.push({ rules, domainOf, pods });
      for (const group of [...rules.spread, ...rules.affinity, ...rules.hostAffinity]) {
        const domain = domainOf(group);
        const own = selectsOwn(rules, group);
        const text = `${group.index} ${own} ${domain ?? ''}`;
        if (seen.has(text)) continue;
        seen.add(text);
        look(group, own, domain);
      }
    });
    for (const { group, domain } of this.cycles.stuck(onNodes, ledger)) {
      wrong.set(`${group.index} ${domain ?? ''} in a circle`, -1);
    }
    return { wrong, inTurn };
  }

  /** Pods of the pass with rules about others, on nodes to launch and on those that exist. */
  private eachStay(visit: (rules: Rules, domainOf: ClassOnNode['domainOf'], pods: number) => void): void {
    const { nodes, compiled } = this.board.context;
    const at =
      (host: string, values: readonly (string | undefined)[]): ClassOnNode['domainOf'] =>
      (group) =>
        group.hostname ? host : values[compiled.space.find(group.key)!];
    for (const { host, profiles, members } of this.board.tentativeNodes) {
      const domainOf = at(host, profiles[0]!.values);
      for (const { rules, pods } of members) visit(rules, domainOf, pods.length);
    }
    for (const { host, kind, placedWithRules = [] } of nodes) {
      const domainOf = at(host, kind.values);
      for (const { rules } of placedWithRules) visit(rules, domainOf, 1);
    }
  }

  /** Whether something does not hold that held before, or holds less; what holds in turn is worth it where fewer pods are left out. */
  breaksMore(before: Broken, isWorthIt: boolean): boolean {
    const { wrong, inTurn } = this.broken();
    for (const [text, least] of wrong) {
      const known = before.wrong.get(text);
      if (known === undefined || known < 0 || least < known) return true;
    }
    return !isWorthIt && [...inTurn].some((text) => !before.inTurn.has(text) && !before.wrong.has(text));
  }
}
