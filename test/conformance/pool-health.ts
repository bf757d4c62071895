import { nodePools } from '../../api/karpenter/node-pool.js';
import { considerPools } from '../../packing/compile/pools.js';
import { pool } from './world.js';
import { registrationHealth, withRegistration, type RegistrationSubject } from '../../core/registration-health.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';

const subject: RegistrationSubject = { poolGeneration: 1, nodeClassGeneration: 1 };

/** What a NodePool comes to say after registrations that succeeded or not; `said` is what it said before any of them. */
const health = (expected: string, outcomes: readonly boolean[], said?: 'True' | 'False'): Check =>
  gives(() => {
    const about = said === undefined ? subject : { ...subject, said: { status: said } };
    const text = outcomes.reduce<string | undefined>(
      (ring, registered, i) => withRegistration(ring, about, { claimUid: `uid-${i}`, registered }) ?? ring,
      undefined,
    );
    return registrationHealth(text, about).status;
  }, expected);

/** pkg/state/nodepoolhealth/suite_test.go */
export const poolHealthCases: readonly ConformanceCase[] = about('NodeRegistrationHealthy by recent launches', [
  same(50, 'unhealthy where two of four failed', health('False', [false, true, false, true])),
  same(75, 'unknown without outcomes', health('Unknown', [])),
  same(78, 'healthy after one registration', health('True', [true])),
  same(82, 'unhealthy after two failures', health('False', [false, false])),
  same(87, 'healthy after a registration that follows failures', health('False', [true], 'False')),
  same(
    92,
    'is separate for each pool',
    gives(() => [health('', [true]), health('', [false, false])].map(({ outcome }) => outcome()), ['True', 'False']),
  ),
  same(102, 'unhealthy after a further failure', health('False', [false, false], 'True')),
  notApplicable(110, 'a status that is set by hand', 'the outcomes alone say what the status is'),
]);

/** In which order pools of these weights are tried. */
const order = (weights: Readonly<Record<string, number>>, expected: readonly string[]): Check =>
  gives(() => {
    const pools = Object.entries(weights).map(([name, weight]) => nodePools.mustParse(pool({ weight }, name)));
    return considerPools(pools, new Map(), 0).pools.map(({ object }) => object.metadata.name);
  }, expected);

/** pkg/utils/nodepool/suite_test.go */
export const poolOrderCases: readonly ConformanceCase[] = about('order of NodePools', [
  same(63, 'is by weight', order({ a: 10, b: 50, c: 1 }, ['b', 'a', 'c'])),
  same(81, 'is by name among equal weights', order({ a: 10, c: 10, b: 10 }, ['c', 'b', 'a'])),
]);
