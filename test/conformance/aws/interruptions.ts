import type { InstanceStatus } from '@aws-sdk/client-ec2';
import { annotations } from '../../../api/labels.js';
import { refusal, steppingClock } from '../../builders/aws-world.js';
import { isThere, runningNode } from '../running/nodes.js';
import { minute, running, second, startMs, type Running } from '../running/stage.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { failed, messages, Notices } from './notices.js';

const disrupted = ({ measured }: Running): readonly string[] =>
  measured
    .filter(({ name }) => name === 'nodeclaims_disrupted_total')
    .map(({ labels }) => `${labels['nodepool'] ?? ''}/${labels['reason'] ?? ''}`)
    .sort();
const unhealthy = ({ measured }: Running): readonly (string | undefined)[] =>
  measured
    .filter(({ name }) => name === 'interruption_instance_status_unhealthy_total')
    .map(({ labels }) => labels['category']);

interface Noticed {
  readonly nodes?: readonly string[];
  /** Bodies of messages, once the process runs. */
  readonly bodies?: readonly string[];
  readonly statuses?: readonly InstanceStatus[];
  /** Another finalizer keeps the claims, so that what was written on them can be seen. */
  readonly held?: boolean;
}

/** Nodes with an announced interruption, and what is found some minutes later. */
const noticed = (
  { nodes = ['n1'], bodies = [], statuses = [], held = false }: Noticed,
  result: (it: Running, notices: Notices) => unknown,
  expected: unknown,
): Check => {
  let notices = new Notices();
  const finalizers = ['karpenter.sh/termination', ...(held ? ['example.com/held'] : [])];
  return running(
    expected,
    async (it) => {
      for (const name of nodes) runningNode(it, name, { claim: { finalizers } });
      await it.pass(10 * second);
      notices.waiting.push(...bodies);
      notices.statuses = statuses;
      await it.pass(2 * minute);
      return result(it, notices);
    },
    {
      prepare: (it) => {
        notices = new Notices();
        notices.reach(it);
      },
    },
  );
};
const left = (it: Running, ...names: readonly string[]): readonly string[] =>
  names.filter((name) => isThere(it, 'NodeClaim', name));
/** What is counted, which claims are left, and how many messages were deleted. */
const outcome =
  (...names: readonly string[]) =>
  (it: Running, { deleted }: Notices): unknown => [disrupted(it), left(it, ...names), deleted];
const ends = (at: number, title: string, body: string, reason: string): ConformanceCase =>
  same(at, title, noticed({ bodies: [body] }, outcome('n1'), [[`default/${reason}`], [], 1]));
const states = { n1: 'terminated', n2: 'stopped', n3: 'stopping', n4: 'shutting-down' };
const many = Array.from({ length: 12 }, (_, i) => `n${i}`);

const messageCases: readonly ConformanceCase[] = about('messages of the interruption queue', [
  ends(137, 'a spot interruption ends the claim', messages.spot('i-n1'), 'spot_interrupted'),
  ends(
    150,
    'a spot interruption of a reserved instance ends the claim',
    messages.reservation('i-n1'),
    'capacity_reservation_interrupted',
  ),
  ends(175, 'a scheduled change ends the claim', messages.scheduled('i-n1'), 'scheduled_change'),
  same(
    188,
    'state changes',
    noticed(
      {
        nodes: Object.keys(states),
        bodies: Object.entries(states).map(([name, state]) => messages.state(`i-${name}`, state)),
      },
      outcome(...Object.keys(states)),
      [
        ['instance_stopped', 'instance_stopped', 'instance_terminated', 'instance_terminated'].map(
          (reason) => `default/${reason}`,
        ),
        [],
        4,
      ],
    ),
  ),
  same(
    [252, 253],
    'more messages than one answer holds',
    noticed(
      {
        nodes: many,
        bodies: many.map((name, i) => (i % 2 === 0 ? messages.spot : messages.reservation)(`i-${name}`)),
      },
      (it, { deleted }) => [left(it, ...many), deleted],
      [[], many.length],
    ),
  ),
  same(
    255,
    'an unparsable message is deleted',
    noticed({ bodies: ['{"field1":"value1"}', 'words'] }, outcome('n1'), [[], ['n1'], 2]),
  ),
  same(
    270,
    'a state that is no end is ignored',
    noticed({ bodies: [messages.state('i-n1', 'creating')] }, outcome('n1'), [[], ['n1'], 1]),
  ),
  same(
    [752, 753],
    'an instance without a claim is ignored',
    noticed(
      { bodies: [messages.spot('i-other'), messages.reservation('i-other')] },
      (it, notices) => [outcome('n1')(it, notices), notices.problems],
      [[[], ['n1'], 2], []],
    ),
  ),
]);

const hourAgo = new Date(startMs - 60 * minute);
const system = failed('i-n1', { system: hourAgo });
const retirement = failed('i-n1', { event: 'instance-retirement' });
/** Whether the claim is being deleted, and whether it says until when its pods have. */
const deadline = (it: Running): readonly boolean[] => {
  const { deletionTimestamp, annotations: own } = it.get('NodeClaim', 'n1')?.metadata ?? {};
  return [deletionTimestamp !== undefined, own?.[annotations.terminationTimestamp] !== undefined];
};
const checked = (
  at: number,
  title: string,
  status: InstanceStatus,
  category: string,
  reason: string,
): ConformanceCase =>
  same(
    at,
    title,
    noticed({ statuses: [status] }, (it) => [disrupted(it), unhealthy(it), left(it, 'n1')], [
      [`default/${reason}`],
      [category],
      [],
    ]),
  );
const ending = (at: number, title: string, status: InstanceStatus, isForced: boolean): ConformanceCase =>
  same(at, title, noticed({ statuses: [status], held: true }, deadline, [true, isForced]));

const statusCases: readonly ConformanceCase[] = about('status checks of instances', [
  checked(321, 'an impaired system check ends the claim', system, 'SystemStatus', 'system_status'),
  checked(
    361,
    'an impaired instance check ends the claim',
    failed('i-n1', { instance: hourAgo }),
    'InstanceStatus',
    'instance_status',
  ),
  checked(514, 'a scheduled event ends the claim', retirement, 'EventStatus', 'event_status'),
  ending(424, 'a completed event does not end the claim', retirement, false),
  ending(
    446,
    'impaired checks of both kinds end the claim',
    failed('i-n1', { system: hourAgo, event: 'instance-retirement' }),
    true,
  ),
  same(
    [396, 479],
    'an impaired check ends the protection of pods from when it was first seen',
    noticed(
      { statuses: [system], held: true },
      async (it) => {
        const said = (): unknown => it.get('NodeClaim', 'n1')?.metadata.annotations?.[annotations.terminationTimestamp];
        const first = said();
        await it.pass(2 * minute);
        return [typeof first, said() === first];
      },
      ['string', true],
    ),
  ),
  notApplicable(
    539,
    'status checks that only count',
    "Karpenter's dry run of status checks is a variable of its source, which no setting reaches",
  ),
  same(
    [570, 606],
    'a fault counts once for each instance',
    noticed({ nodes: ['n1', 'n2'], statuses: [system, failed('i-n2', { system: hourAgo })], held: true }, unhealthy, [
      'SystemStatus',
      'SystemStatus',
    ]),
  ),
  same(
    670,
    'a fault counts again when it returns',
    noticed(
      { statuses: [system], held: true },
      async (it, notices) => {
        notices.statuses = [];
        await it.pass(2 * minute);
        notices.statuses = [failed('i-n1', { system: new Date(it.now()) })];
        await it.pass(5 * minute);
        return unhealthy(it);
      },
      ['SystemStatus', 'SystemStatus'],
    ),
  ),
]);

/** A queue that refuses is reported, and asked again. */
const refusing = (at: number, code: string): ConformanceCase =>
  same(
    at,
    `a queue that says ${code}`,
    gives(async () => {
      const notices = new Notices();
      const clock = steppingClock();
      notices.errors.push(refusal(code, 'words', 'sqs:ReceiveMessage'));
      notices.waiting.push(messages.spot('i-1'));
      const stop = new AbortController();
      const heard: string[] = [];
      await notices.provider(clock).interruptions.run(({ instanceId }) => {
        heard.push(instanceId);
        stop.abort();
        return Promise.resolve();
      }, stop.signal);
      return [notices.problems, heard];
    }, [[`sqs:ReceiveMessage: ${code}: words`], ['i-1']]),
  );

/** pkg/controllers/interruption/suite_test.go, but for what is then left alone. */
export const interruptionCases: readonly ConformanceCase[] = [
  ...messageCases,
  ...statusCases,
  refusing(739, 'QueueDoesNotExist'),
  refusing(743, 'AccessDenied'),
];
