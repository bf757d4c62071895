import { counted } from '../../core/text.js';
import { formatResource } from '../../core/quantities.js';
import type { Compiled } from '../compile/compiled.js';
import type { Row } from '../compile/universe.js';

/** Why a claim would launch as `cheapest`, as text for people. */
export function whyOf({ dimensions, offers }: Compiled, cheapest: Row, usage: Float64Array, types: number): string {
  const allocatable = offers.allocatable(cheapest.type);
  const { overhead } = offers.of(cheapest.profile);
  let tightest = 0;
  let share = 0;
  const needs: string[] = [];
  for (let d = 0; d < usage.length; d++) {
    const amount = usage[d]! + overhead[d]!;
    if (usage[d]! > 0) needs.push(needText(dimensions.names[d]!, usage[d]!));
    if (allocatable[d]! > 0 && amount / allocatable[d]! > share) {
      share = amount / allocatable[d]!;
      tightest = d;
    }
  }
  const rivals = types === 1 ? 'the only type that fits' : 'the cheapest listed type that fits';
  const used = dimensions.names[tightest] === 'pods' ? 'room for pods' : dimensions.names[tightest]!;
  const tight = `${Math.round(share * 100)}% of its ${used} is then in use`;
  return `${cheapest.type.name} in ${cheapest.zone} (${cheapest.capacityType}) is ${rivals} ${needs.join(', ')}; ${tight}`;
}

const needText = (resource: string, amount: number): string =>
  resource === 'pods' ? counted(amount, 'pod') : `${resource} ${formatResource(resource, amount)}`;
