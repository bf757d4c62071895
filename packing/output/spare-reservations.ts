import { normaliseKey } from '../../core/labels.js';
import { openRows, type Launchable } from '../compile/launchables.js';
import type { Row } from '../compile/universe.js';
import type { Requirements } from '../requirements/requirements.js';
import type { ClaimContext } from './claim-context.js';

const reservationSuffix = 'capacity-reservation-id';

/** Label key and id of the reservation of an offering; undefined if there is none, for example for a commitment. */
export function reservationOfRow({
  offering,
  profile,
}: Row): { readonly key: string; readonly id: string } | undefined {
  if (profile.reservation === undefined || offering.commitment !== undefined) return undefined;
  const named = offering.requirements.find(({ key, operator }) => operator === 'In' && key.endsWith(reservationSuffix));
  return named?.values?.[0] === profile.reservation
    ? { key: normaliseKey(named.key), id: profile.reservation }
    : undefined;
}

/** Ids of other reservations that the claim's NodePool may use and whose instances the plan does not use up. */
export function spareReservations({ compiled, limits }: ClaimContext, row: Row): readonly string[] {
  const own = reservationOfRow(row);
  // If no type determines the label, a node gets a single value.
  if (own === undefined || !compiled.wellKnown.has(own.key)) return [];
  const { rows, typeRuns } = compiled.universe;
  const left = new Set(limits.flatMap(({ reservation, remaining }) => (remaining >= 1 ? (reservation ?? []) : [])));
  const spare = new Set<string>();
  for (const { from, to } of typeRuns[row.profile.pool.index]!) {
    for (let each = from; each < to; each++) {
      const id = reservationOfRow(rows[each]!)?.id;
      if (id !== undefined && id !== row.profile.reservation && left.has(id)) spare.add(id);
    }
  }
  return [...spare].sort();
}

/** The reservations under which a listed type may be launched. */
export function reservationsListed(
  { compiled }: ClaimContext,
  row: Row,
  listed: readonly Launchable[],
  { joint, among }: { readonly joint: Requirements; readonly among: readonly string[] },
): readonly string[] {
  const { rows, typeRuns } = compiled.universe;
  const isOpen = openRows(compiled.space, joint);
  const types = new Set(listed.map(({ type }) => type));
  const found = new Set<string>();
  for (const { type, from, to } of typeRuns[row.profile.pool.index]!) {
    if (!types.has(type)) continue;
    for (const each of rows.slice(from, to)) if (isOpen.row(each)) found.add(each.profile.reservation ?? '');
  }
  return among.filter((id) => found.has(id));
}
