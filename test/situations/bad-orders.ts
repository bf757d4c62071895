import { expect, test } from '@jest/globals';
import { patience, type People } from './people.js';
import { saidHere, type Said } from './stowage.js';

type Order = readonly [what: string, args: readonly [name: string, ...string[]], reason: RegExp];

const nothing = /"nosuch" is no workflow id, and nothing is under way for a node or NodePool of that name/;
const emptyActor = /what follows --as is empty: give a value, or leave it out/;
const blank = /--as is empty: give the name of the person for whom you act/;
const scope = ['--nodepool', 'held'];
const because = ['--because', 'x'];

/** Every order about an unknown object, and with an empty --as. */
const senseless: readonly Order[] = [
  ...['approve', 'reject', 'abort', 'hold', 'retry', 'expedite'].flatMap((order): Order[] => [
    [`${order} about nothing`, [order, 'nosuch'], nothing],
    [`${order} with an empty --as`, [order, 'nosuch', '--as', ''], emptyActor],
  ]),
  ['rollback about nothing', ['rollback', 'closed'], /no rollout of a NodePool of that name/],
  ['rollback with a blank --as', ['rollback', 'closed', '--as', ' '], blank],
  [
    'approve of no workflow',
    ['approve', 'consolidate/0000000000000000'],
    /consolidate\/0{16}: no such workflow is running/,
  ],
  ['pause of no NodePool', ['pause', '--nodepool', 'nosuch', ...because], /there is no NodePool "nosuch"; known are /],
  ...['nosuch', '__proto__', 'knoten-ü', '../../etc', 'a'.repeat(253)].map((name): Order => [
    `pause of no node: ${name}`,
    ['pause', '--node', name, ...because],
    /there is no node "/,
  ]),
  ...['approve', 'abort', 'hold', 'expedite'].map((name): Order => [
    `${name} about __proto__`,
    [name, '__proto__'],
    /"__proto__" is no workflow id/,
  ]),
  ['history of __proto__', ['history', 'node', '__proto__'], /nothing is known of "__proto__"/],
  ['why of a long name', ['why', `node/${'a'.repeat(253)}`], /node a{253} does not exist/],
  ['pause of nothing', ['pause', ...because], /say what: --cluster, --nodepool NAME, --node NAME or --reason REASON/],
  [
    'pause of two things',
    ['pause', '--cluster', '--node', 'n', ...because],
    /give one of --cluster, --nodepool, --node/,
  ],
  ['pause with an empty --as', ['pause', ...scope, ...because, '--as', ''], emptyActor],
  ['pause without a reason', ['pause', ...scope, '--because', ' '], /reason is missing: say why/],
  ['pause for no time', ['pause', ...scope, ...because, '--for', '0s'], /--for: "0s" is not allowed/],
  [
    'resume of what is not paused',
    ['resume', '--nodepool', 'closed'],
    /NodePool closed is not paused; paused: .*NodePool held/,
  ],
  ['resume of what is not there', ['resume', '--nodepool', 'nosuch'], /NodePool nosuch is not paused/],
  ['resume of nothing', ['resume'], /say what: --cluster/],
  ['resume with an empty --as', ['resume', ...scope, '--as', ''], emptyActor],
  ['reconsider of a node without a rejection', ['reconsider', '--node', 'nosuch'], /nothing is refused for/],
  ['reconsider of nothing', ['reconsider'], /say what: --node NAME, --nodepool NAME or --all/],
  ['reconsider with an empty --as', ['reconsider', '--all', '--as', ''], emptyActor],
  ['why of no pod', ['why', 'pod/nosuch'], /pod default\/nosuch does not exist/],
  ['why of no node', ['why', 'node/nosuch'], /node nosuch does not exist/],
  ['why of no kind', ['why', 'deployment/held'], /expected pod\/NAME, node\/NAME, nodeclaim\/NAME or nodepool\/NAME/],
  ['history of no node', ['history', 'node', 'nosuch'], /nothing is known of "nosuch"/],
  ['expedite within no time', ['expedite', 'nosuch', '--within', 'soon'], /--within: "soon" is not a duration/],
];

/** The orders are refused: nothing is printed but the reason, and the exit status is 2. */
export const refused = (said: Said, reason: RegExp): void =>
  expect(said).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(reason) });

export function badOrders(people: People): void {
  test(
    'orders about unknown objects, without an actor or with invalid input are refused with the reason and exit status 2',
    async () => {
      const said: object[] = [];
      for (const [what, [name, ...args]] of senseless) said.push({ what, ...(await saidHere(name, ...args)) });
      expect(said).toEqual(
        senseless.map(([what, , reason]) => ({ what, code: 2, stdout: '', stderr: expect.stringMatching(reason) })),
      );
      // And one by the program, which ends as they do.
      refused(await people.stowage('approve', 'nosuch'), nothing);
    },
    patience,
  );

  test(
    'a repeated order takes effect once, and one that contradicts an earlier order is refused',
    async () => {
      const stowage = (...args: string[]): Promise<Said> => people.stowage(...args);
      const id = await people.question(await people.node('asked'));
      const held = await stowage('hold', id, '--because', 'a look');
      expect([held.code, held.stdout]).toEqual([
        0,
        expect.stringMatching(/^Holds \S+\nNow: .*\nHeld by .* \(a look\)\n$/),
      ]);
      refused(await stowage('hold', id), /holds it already/);
      const off = await stowage('hold', id, '--off');
      expect([off.code, off.stdout]).toEqual([0, expect.stringMatching(/^Released: \S+\nNow: /)]);
      refused(await stowage('hold', id, '--off'), /nobody holds it/);
      refused(await stowage('retry', id), /nothing waits to be tried again: the phase is awaiting approval/);
      refused(await stowage('expedite', id), /nothing waits that could be expedited: the phase is awaiting approval/);

      const node = ['--node', await people.node('cheapest')];
      for (const why of ['first', 'second']) {
        const paused = await stowage('pause', ...node, '--because', why, '--for', '1h');
        expect([paused.code, paused.stderr]).toEqual([0, '']);
      }
      const listed = (await people.status()).split('\n').filter((line) => line.startsWith(`node ${node[1]}`));
      expect(listed).toEqual([expect.stringMatching(/second$/)]);
      expect((await stowage('resume', ...node)).code).toBe(0);
      refused(await stowage('resume', ...node), /is not paused/);
    },
    patience,
  );
}
