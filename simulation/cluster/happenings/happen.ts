import type { Stage } from '../stage.js';
import { machineHappenings } from './machines.js';
import { outageHappenings } from './outages.js';
import { peopleHappenings } from './people.js';
import { settingsHappenings } from './settings.js';
import { workloadHappenings } from './workloads.js';

const happenings = [
  ...workloadHappenings,
  ...machineHappenings,
  ...peopleHappenings,
  ...settingsHappenings,
  ...outageHappenings,
];
const total = happenings.reduce((sum, { weight }) => sum + weight, 0);

/** One thing happens, drawn by weight. Gives its name. */
export function happen(stage: Stage): string {
  let at = stage.random.next() * total;
  for (const { name, weight, happens } of happenings) {
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
