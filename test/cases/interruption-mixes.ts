/** What a flood is made of. */
export const mixes = ['account', 'distinct'] as const;
export type Mix = (typeof mixes)[number];

export interface Flood {
  readonly bodies: readonly string[];
  /** Instances of the cluster's claims. */
  readonly own: readonly string[];
  /** Of these, the ones that a notice names: each gets one workflow. */
  readonly noticed: number;
  /** Distinct messages that say nothing to act on: malformed ones, unknown ones and states of no interest. */
  readonly ignored: number;
}

type Detail = readonly [type: string, detail: Readonly<Record<string, unknown>>];

const state = (name: string): Detail => ['EC2 Instance State-change Notification', { state: name }];
const rebalance: Detail = ['EC2 Instance Rebalance Recommendation', {}];
const warning: Detail = ['EC2 Spot Instance Interruption Warning', { 'instance-action': 'terminate' }];
const reservation: Detail = ['EC2 Capacity Reservation Instance Interruption Warning', {}];

/** EventBridge messages about an instance in its life, by how it ends. */
const lives: readonly (readonly Detail[])[] = [
  [state('pending'), state('running'), rebalance, warning, state('shutting-down'), state('terminated')],
  [state('pending'), state('running'), warning, state('shutting-down'), state('terminated')],
  [state('pending'), state('running'), rebalance],
  [state('pending'), state('running'), reservation, state('shutting-down'), state('terminated')],
  [state('pending'), state('running'), state('stopping'), state('stopped')],
];

/** A flood of `count` messages in a mixed order. The same for the same count and mix. */
export function floodOf(count: number, mix: Mix): Flood {
  const made = mix === 'distinct' ? distinct(count) : account(count);
  return { ...made, bodies: mixed(made.bodies) };
}

/**
 * What a queue gets while the operator is away: the lives of an account's instances, two of five of them another
 * owner's. About one message in twenty repeats an earlier one, one in a hundred is broken or of no known kind.
 */
function account(count: number): Flood {
  const bodies: string[] = [];
  const own: string[] = [];
  const noticed = new Set<string>();
  let ignored = 0;
  for (let serial = 0; bodies.length < count; serial++) {
    const id = instanceId(serial);
    const mine = Math.floor(serial / lives.length) % 5 < 3;
    if (mine) own.push(id);
    for (const [step, detail] of lives[serial % lives.length]!.entries()) {
      if (bodies.length >= count) break;
      const quiet = detail[1]['state'] === 'pending' || detail[1]['state'] === 'running';
      if (quiet) ignored += 1;
      else if (mine) noticed.add(id);
      bodies.push(event(`event-${serial}-${step}`, id, detail));
      if (bodies.length < count && bodies.length % 20 === 0 && !quiet) bodies.push(bodies.at(-1)!);
      if (bodies.length < count && bodies.length % 100 === 0) {
        ignored += 1;
        bodies.push(bodies.length % 200 === 0 ? `{"broken": ${serial}` : unknown(serial));
      }
    }
  }
  return { bodies, own, noticed: noticed.size, ignored };
}

/** The hardest for Temporal: each notice names another instance, but for two of ten that repeat one; one of ten says nothing. */
function distinct(count: number): Flood {
  const kinds = [warning, rebalance, state('stopping')];
  const bodies: string[] = [];
  const own = new Set<string>();
  let ignored = 0;
  for (let i = 0; i < count; i++) {
    if (i % 10 === 9) {
      ignored += 1;
      bodies.push(i % 20 === 9 ? `{"broken": ${i}` : unknown(i));
      continue;
    }
    const serial = i % 10 >= 7 ? i - 5 : i;
    own.add(instanceId(serial));
    bodies.push(event(`event-${serial}`, instanceId(serial), kinds[serial % kinds.length]!));
  }
  return { bodies, own: [...own], noticed: own.size, ignored };
}

const instanceId = (serial: number): string => `i-${String(serial).padStart(17, '0')}`;

const unknown = (serial: number): string =>
  JSON.stringify({ version: '0', id: `event-x${serial}`, source: 'aws.s3', 'detail-type': 'Other' });

const event = (id: string, instance: string, [type, detail]: Detail): string =>
  JSON.stringify({
    version: '0',
    id,
    source: 'aws.ec2',
    'detail-type': type,
    time: '2026-11-21T10:00:00Z',
    detail: { 'instance-id': instance, ...detail },
  });

/** A fixed stride mixes the order. */
function mixed(bodies: readonly string[]): readonly string[] {
  const stride = 7919;
  return bodies.length % stride === 0 ? bodies : bodies.map((_, i) => bodies[(i * stride) % bodies.length]!);
}
