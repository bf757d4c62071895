import type { Happening } from './happening.js';
import type { Stage } from '../stage.js';
import { machineHappenings } from './machines.js';
import { othersHappenings } from './others.js';
import { outageHappenings } from './outages.js';
import { peopleHappenings } from './people.js';
import { poolHappenings } from './pools.js';
import { refusalHappenings } from './refusals.js';
import { restoreHappenings } from './restores.js';
import { settingsHappenings } from './settings.js';
import { workloadHappenings } from './workloads.js';

const happenings = [
  ...workloadHappenings,
  ...machineHappenings,
  ...peopleHappenings,
  ...settingsHappenings,
  ...poolHappenings,
  ...othersHappenings,
  ...outageHappenings,
  ...restoreHappenings,
  ...refusalHappenings,
];
const totalOf = (from: readonly Happening[]): number => from.reduce((sum, { weight }) => sum + weight, 0);

/** One thing happens, drawn by weight from those whose names fit the plan. Gives its name. */
export function happen(stage: Stage): string {
  const { only } = stage.plan;
  const from = only === undefined ? happenings : happenings.filter(({ name }) => only.test(name));
  let at = stage.random.next() * totalOf(from);
  for (const { name, weight, happens } of from) {
    at -= weight;
    if (at >= 0) continue;
    stage.say(`--- ${name}`);
    happens(stage);
    return name;
  }
  return 'nothing';
}

/** The named thing happens. */
export function happenNamed(stage: Stage, wanted: string): void {
  const found = happenings.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`nothing is called ${wanted}; there is: ${happenings.map(({ name }) => name).join('; ')}`); // prettier-ignore
  stage.say(`--- ${wanted}`);
  found.happens(stage);
}
