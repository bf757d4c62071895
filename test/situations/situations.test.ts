import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { observe } from '../../devstack/demo/observe.js';
import { kubectl } from '../live/kubectl.js';
import { allowCheaper, changeTemplate, createSituations, staying, unplaced } from './situations.js';
import { stowage as stowageIn, type Said } from './stowage.js';
import { createNodeClass, nodeOf, startLiveWorld, within, type LiveWorld } from '../live/world.js';

// Rule `surfaces/one-verdict`: twelve situations that people ask about, made for real: `why`, `status` and the event say the same of each.
// After that what people order about them.
let world: LiveWorld;

const stowage = (...args: string[]): Promise<Said> => stowageIn(world, ...args);
const section = (status: string, title: string): string =>
  status.split('\n\n').find((text) => text.startsWith(title)) ?? '';

const podOf = async (app: string): Promise<Pod | undefined> => {
  const pods = await world.kube.list('Pod', { namespace: 'default', labelSelector: `app=${app}` });
  return pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
};

/** What events of this object say. */
async function told(kind: string, name: string): Promise<readonly string[]> {
  const events = await world.kube.list('Event', { namespace: 'default' });
  return events
    .filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name)
    .map(({ reason = '', message = '' }) => `${reason}: ${message}`);
}

/** What is said of an object, everywhere. */
interface Surfaces {
  readonly why: string;
  readonly status: string;
  readonly events: readonly string[];
}

async function surfaces(subject: string, kind: string, name: string): Promise<Surfaces> {
  const [why, status, events] = await Promise.all([
    stowage('why', subject, '-o', 'json'),
    stowage('status'),
    told(kind, name),
  ]);
  const { answer = '' } = why.code === 0 ? (JSON.parse(why.stdout) as { answer?: string }) : {};
  return { why: answer, status: status.stdout, events };
}

interface Seen {
  readonly found: Surfaces;
  /** What `why` answers, where it is what is awaited. */
  readonly said: string | undefined;
  /** How the event tells that. */
  readonly event: string;
}

/** Waits until all of them say the same, and gives that. */
function agreed(what: string, look: () => Promise<Seen>): Promise<string> {
  let last: Seen | undefined;
  return observe(
    `${what}: why, status and the event say the same`,
    async () => {
      last = await look();
      const { found, said, event } = last;
      if (said === undefined || !found.status.includes(said)) return undefined;
      return found.events.some((text) => text.includes(event)) ? said : undefined;
    },
    within(150),
    () => Promise.resolve(JSON.stringify(last, null, 1)),
  );
}

const patience = 180_000;

/** Until the command says this. */
const says = (words: RegExp, ...args: string[]): Promise<string> => {
  let last: Said | undefined;
  return observe(
    `stowage ${args.join(' ')} says ${String(words)}`,
    async () => {
      last = await stowage(...args);
      return words.test(last.stdout) ? last.stdout : undefined;
    },
    within(150),
    () => Promise.resolve(JSON.stringify(last)),
  );
};

beforeAll(async () => {
  world = await startLiveWorld('situations');
  await createNodeClass(world, 'default');
  await createSituations(world);
  await stowage('pause', '--nodepool', 'held', '--because', 'release day', '--as', 'ann');
  await Promise.all(
    staying.map(({ name }) => observe(`The pod of ${name} running`, () => nodeOf(world, name), within(300))),
  );
  await Promise.all(['moved', 'asked'].map((name) => allowCheaper(world, name)));
}, 600_000);

afterAll(async () => {
  await world.stop();
}, 60_000);

describe('a pod without a place', () => {
  test.each(unplaced)(
    '$name',
    async ({ name, says: expected }) => {
      const said = await agreed(name, async () => {
        const pod = (await podOf(name))?.metadata.name ?? '';
        const found = await surfaces(`pod/${pod}`, 'Pod', pod);
        return { found, said: expected.exec(found.why)?.[0], event: expected.exec(found.why)?.[0] ?? '' };
      });
      expect(said).toMatch(expected);
    },
    patience,
  );
});

describe('a node that stays', () => {
  test.each(staying)(
    '$name',
    async ({ name, says: expected }) => {
      const said = await agreed(name, async () => {
        const node = (await nodeOf(world, name)) ?? '';
        const found = await surfaces(`node/${node}`, 'Node', node);
        const why = /^stays: (.*)$/.exec(found.why)?.[1] ?? '';
        return { found, said: expected.test(why) ? why : undefined, event: `It stays: ${why}` };
      });
      expect(said).toMatch(expected);
    },
    patience,
  );
});

/** The question about the node of NodePool `asked`. */
const questionIn = (status: string): string => /stowage approve (\S+)/.exec(status)?.[1] ?? '';

describe('orders that make no sense are refused with the reason and exit status 2', () => {
  let asked: string;
  beforeAll(async () => {
    asked = (await nodeOf(world, 'asked'))!;
  });

  test.each<[string, () => readonly string[], RegExp]>([
    ['about no node', () => ['approve', 'nosuch'], /"nosuch" is no workflow id, and nothing is under way/],
    [
      'about no workflow',
      () => ['approve', 'consolidate/0000000000000000'],
      /stowage-local\/consolidate\/0{16}: no such workflow is running/,
    ],
    ['by nobody', () => ['reject', asked, '--as', ''], /--as is empty/],
    [
      'about a NodePool that is none',
      () => ['pause', '--nodepool', 'nosuch', '--because', 'x'],
      /there is no NodePool "nosuch"; known are asked, /,
    ],
    [
      'to resume what is not paused',
      () => ['resume', '--nodepool', 'closed'],
      /NodePool closed is not paused; paused: NodePool held/,
    ],
    ['to take back what nobody turned down', () => ['reconsider', '--node', asked], /nothing is refused for/],
    ['to hurry what does not run', () => ['expedite', 'nosuch'], /nothing is under way/],
    ['to roll back what does not roll out', () => ['rollback', 'closed'], /no rollout of a NodePool of that name/],
    ['about a pod that is none', () => ['why', 'pod/nosuch'], /pod default\/nosuch does not exist/],
    ['about a node that is none', () => ['why', 'node/nosuch'], /node nosuch does not exist/],
  ])(
    '%s',
    async (_name, args, reason) => {
      const { stderr, code, stdout } = await stowage(...args());
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(reason) });
    },
    patience,
  );
});

describe('what is asked, answered and told', () => {
  test(
    'no is taken once; it is told, holds for its reason, is undone, and what drifted goes on without an answer',
    async () => {
      const asked = (await nodeOf(world, 'asked'))!;
      const question = questionIn((await stowage('status')).stdout);
      const no = await stowage('reject', question, '--because', 'not now');
      expect([no.code, no.stderr]).toEqual([0, '']);
      expect(no.stdout).toMatch(new RegExp(`^Rejected ${question}\nNow: rejected`));

      // Twice, contradicting and too late.
      for (const order of ['reject', 'approve', 'abort']) {
        const again = await stowage(order, question, '--because', 'once more');
        expect([order, again.code, again.stdout]).toEqual([order, 2, '']);
        expect(again.stderr).toMatch(/it is over: rejected by|no such workflow is running/);
      }
      const status = await says(/Turned down/, 'status');
      expect(section(status, 'Turned down')).toMatch(new RegExp(`${asked} .*Underutilized .*not now`));
      expect((await stowage('why', `node/${asked}`)).stdout).toContain(`stowage reconsider --node ${asked}`);

      const undone = await stowage('reconsider', '--node', asked, '--because', 'now it may');
      expect([undone.code, undone.stdout]).toEqual([0, 'Nothing is refused any more.\n']);
      const again = questionIn(await says(/stowage approve \S+/, 'status'));
      expect(await told('Node', asked)).toContainEqual(expect.stringContaining('AwaitsApproval: '));

      // Nobody answers: drift goes on all the same, and the question ends with its cause.
      await changeTemplate(world, 'asked');
      await observe(
        'The pod of asked on another node, which has not drifted',
        async () => ((await nodeOf(world, 'asked')) ?? asked) !== asked || undefined,
        within(150),
        async () => (await stowage('status')).stdout,
      );
      const late = await stowage('approve', again, '--because', 'yes after all');
      expect([late.code, late.stdout]).toEqual([2, '']);
    },
    2 * patience,
  );

  test(
    'force is never a surprise: refused without it, told with whose it was',
    async () => {
      const node = (await nodeOf(world, 'guarded'))!;
      const before = (await podOf('guarded'))!.metadata.name!;
      const claims = await world.kube.list('NodeClaim');
      const claim = claims.find(({ status }) => status?.nodeName === node)!.metadata.name!;
      await kubectl(world.stack, ['delete', 'nodeclaim', claim, '--wait=false']);
      const blocked = section(await says(/is blocked, draining/, 'status'), 'Needs you');
      expect(blocked).toContain(`pdb/default/guarded`);

      const refused = await stowage('expedite', node, '--because', 'it burns');
      expect([refused.code, refused.stdout]).toEqual([2, '']);
      expect(refused.stderr).toMatch(new RegExp(`${before}.*guarded.*--force`, 's'));
      expect((await podOf('guarded'))?.metadata.name).toBe(before);

      const forced = await stowage('expedite', node, '--force', '--because', 'it burns', '--as', 'ann');
      expect([forced.code, forced.stderr]).toEqual([0, '']);
      expect(forced.stdout).toMatch(/^Expedited \S+\nNow: /);
      await says(/forced by .* for ann/, 'history', 'node', node);
      expect(await told('Node', node)).toContainEqual(expect.stringMatching(/^DrainForced: .*for ann.*guarded/));
      const report = await says(/By force|by force/, 'report', '--since', '1h');
      expect(report).toContain('it burns');
    },
    2 * patience,
  );
});

test(
  'the engine is down',
  async () => {
    const pod = (await podOf('typo'))?.metadata.name ?? '';
    await world.stack.stopComponent('temporal');
    await observe(
      'The event of the pod',
      async () => (await told('Pod', pod)).some((text) => text.includes('Temporal: it cannot be reached')) || undefined,
      within(150),
      async () => JSON.stringify(await told('Pod', pod)),
    );
    for (const args of [['why', `pod/${pod}`], ['status']]) {
      const { stderr, code } = await stowage(...args);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^stowage: Temporal cannot be reached at /);
    }
  },
  patience,
);
