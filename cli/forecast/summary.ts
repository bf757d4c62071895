import { compareText, counted, verb } from '../../core/text.js';
import type { Forecast } from './types.js';

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

const inWords = (count: number, noun: string): string => counted(count, noun).replace(/^\d+/, words[count] ?? '$&');

export const dollarsText = (amount: number): string => amount.toFixed(Math.abs(amount) < 0.1 && amount !== 0 ? 4 : 2);

/** The answer in one sentence. */
export function forecastSummary(found: Found): string {
  const { refused, objects } = found;
  const names = new Set(refused.map(({ object, at }) => `${object} ${at}`)).size;
  const refusal = names === 0 ? '' : `${capital(inWords(names, 'object'))} ${verb(names, 'is', 'are')} refused. `;
  if (objects.length === 0) return `${refusal}${names === 0 ? 'If this is applied, n' : 'Besides, n'}othing changes.`;
  const parts = [...nodeParts(found), ...podParts(found), pricePart(found)];
  const told = parts.length === 1 ? ['no other node is launched, drifts or is disrupted', ...parts] : parts;
  const last = told.at(-1)!;
  const others = told.slice(0, -1);
  const joined = others.length === 1 ? `${others[0]!}, and ${last}` : `${others.join(', ')}, and ${last}`;
  return `${refusal}If ${names === 0 ? 'this' : 'the rest'} is applied, ${joined}.`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

type Found = Omit<Forecast, 'outcome' | 'summary'>;

const nodeParts = (found: Found): string[] => [
  ...driftParts(found),
  ...(found.drifted.length === 0 ? [...oldDriftParts(found), ...launchParts(found)] : []),
  ...disruptionParts(found),
];

function driftParts({ drifted, turns, stays }: Found): string[] {
  const names = new Set(drifted.flatMap(({ nodes }) => nodes));
  if (names.size === 0) return [];
  const of = turns.filter(({ nodes }) => nodes.some((node) => names.has(node)));
  const isRollout = of.every(({ wave }) => wave !== undefined);
  const when = of.length < 2 ? '' : ` over ${inWords(of.length, isRollout ? 'wave' : 'window')}`;
  const kept = stays.filter(({ node }) => names.has(node)).length;
  const some = kept === 0 ? '' : `, of which ${words[kept] ?? kept} cannot be replaced`;
  const staying = kept === names.size ? ' and cannot be replaced' : some;
  return [`${inWords(names.size, 'node')} ${verb(names.size, 'drifts', 'drift')}${when}${staying}`];
}

/** What becomes of nodes that have drifted already. */
function oldDriftParts({ noLongerDrifted, turns, turnsWithout }: Found): string[] {
  const back = noLongerDrifted.reduce((sum, { nodes }) => sum + nodes.length, 0);
  if (back > 0) return [`${inWords(back, 'node')} no longer ${verb(back, 'drifts', 'drift')}`];
  const [ends, before] = [endOf(turns), endOf(turnsWithout)];
  if (ends === before) return [];
  if (ends === undefined) return ['what has drifted already is not replaced'];
  return [`what has drifted already is replaced by ${ends}${before === undefined ? '' : ` instead of by ${before}`}`];
}

const endOf = (turns: Found['turns']): string | undefined =>
  turns
    .map(({ until }) => until)
    .sort(compareText)
    .at(-1);

function launchParts({ launches }: Found): string[] {
  const more = launches.reduce((sum, { nodes }) => sum + nodes, 0);
  return more === 0 ? [] : [`${inWords(more, 'more node')} ${verb(more, 'is', 'are')} launched`];
}

function disruptionParts({ disruptions }: Found): string[] {
  const more = (reasons: readonly string[]): number =>
    disruptions.reduce((sum, each) => sum + (reasons.includes(each.reason) ? each.with - each.without : 0), 0);
  const deleted = more(['Deleted']);
  const consolidated = more(['Empty', 'Underutilized']);
  const delayed = disruptions.filter(
    (each) => each.with > 0 && each.from !== undefined && each.from !== each.fromWithout,
  );
  const waits = [...new Set(delayed.flatMap(({ from }) => from ?? []))].sort(compareText);
  const count = Math.abs(consolidated);
  const noun = consolidated > 0 ? 'more node' : 'fewer node';
  const pool = `with ${verb(deleted, 'its', 'their')} NodePool`;
  return [
    ...(deleted > 0 ? [`${inWords(deleted, 'node')} ${verb(deleted, 'is', 'are')} removed ${pool}`] : []),
    ...(waits.length > 0 ? [`consolidation waits until ${waits.join(' or ')}`] : []),
    ...(count > 0 ? [`${inWords(count, noun)} ${verb(count, 'is', 'are')} consolidated`] : []),
  ];
}

function podParts({ withoutPlace, placed, drifted, disruptions }: Found): string[] {
  const going = new Set(drifted.flatMap(({ nodes }) => nodes));
  const isRemoved = disruptions.some(({ reason }) => reason === 'Deleted');
  const running = withoutPlace.filter(({ node }) => node !== '');
  const lost = running.filter(({ node }) => isRemoved || going.has(node)).length;
  const stuck = running.length - lost;
  const pending = withoutPlace.length - running.length;
  return [
    ...(lost > 0 ? [`${inWords(lost, 'pod')} ${verb(lost, 'loses its', 'lose their')} only place`] : []),
    ...(stuck > 0 ? [`${inWords(stuck, 'running pod')} could not move any more`] : []),
    ...(pending > 0 ? [`${inWords(pending, 'pod')} ${verb(pending, 'stays', 'stay')} pending`] : []),
    ...(placed.length > 0
      ? [`${inWords(placed.length, 'pending pod')} ${verb(placed.length, 'gets', 'get')} a node`]
      : []),
  ];
}

function pricePart({ pricePerHour }: Found): string {
  const { without, with: then } = pricePerHour;
  return dollarsText(without) === dollarsText(then)
    ? `the price stays at ${dollarsText(then)} dollars an hour`
    : `the price goes from ${dollarsText(without)} to ${dollarsText(then)} dollars an hour`;
}
