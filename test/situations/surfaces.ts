import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import type { StatusReport } from '../../cli/status-rows.js';
import { conditionOf } from '../../core/conditions.js';
import { patience, section, type People } from './people.js';
import type { Receiver } from './receiver.js';
import { hopeless } from './situations.js';
import { environmentOf } from './stowage.js';

const order = ['Needs you', 'Wrong', 'Under way', 'NodePools', 'Nodes that could go but stay', 'Paused'];

export function surfaces(people: People): void {
  describe('status, reports and events', () => {
    test(
      'status lists first what needs a person, without repetition, and follows changes until it is interrupted',
      async () => {
        // What does not answer in time is said to be missing.
        const text = await people.says(/^Paused$/m, 'status');
        const titles = text.split('\n\n').map((part) => part.split('\n')[0] ?? '');
        expect(titles.filter((title) => order.includes(title))).toEqual(order);
        const pod = await people.podName('gpu');
        expect(text.split(`default/${pod}`).length - 1).toBe(1);

        const child = spawn(process.execPath, ['bin/stowage', 'status', '--watch'], {
          env: environmentOf(people.world),
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        let printed = '';
        child.stdout.on('data', (part) => (printed += String(part)));
        const ended = once(child, 'exit');
        await people.until('Two looks', () => Promise.resolve(printed.split('Needs you').length > 2));
        child.kill('SIGINT');
        expect(await ended).toEqual([0, null]);
      },
      patience,
    );

    test(
      'each NodePool is shown with its price and the lower bound for its pods, and so is their sum',
      async () => {
        const price = String.raw`\$\d\.\d{4}`;
        // A NodePool whose types are the cheapest that there are is at its bound; all together are not.
        const row = (name: string): RegExp => new RegExp(`^${name} +(True)? +\\d+ +${price} +${price}`, 'm');
        await people.says(row('all'), 'status');
        const pools = section(await people.status(), 'NodePools');
        for (const name of ['cheapest', 'all']) expect(pools).toMatch(row(name));
        const report = JSON.parse((await people.stowage('status', '-o', 'json')).stdout) as StatusReport;
        const { pricePerHour = 0, leastPossiblePerHour = 0 } =
          report.pools.find(({ nodePool }) => nodePool === 'cheapest') ?? {};
        expect(leastPossiblePerHour).toBeGreaterThan(0);
        expect(leastPossiblePerHour).toBeLessThanOrEqual(pricePerHour);
        expect(report.leastPossiblePerHour).toBeGreaterThan(0);
      },
      patience,
    );

    test.each(Object.keys(hopeless))(
      'NodePool %s, which no instance type satisfies, is reported by a condition, an event and status',
      async (name) => {
        let why = '';
        await people.until(`What is wrong with NodePool ${name}`, async () => {
          const { status } = (await people.world.kube.get('NodePool', { name })) ?? {};
          why = conditionOf(status?.conditions, 'InstanceTypesAvailable')?.message ?? '';
          return why !== '' && (await people.events('NodePool', name)).some((text) => text.includes(why));
        });
        expect(section(await people.status(), 'NodePools')).toContain(why);
      },
      patience,
    );

    test(
      'a pause is reported by an event on what it pauses',
      async () => {
        expect(await people.events('NodePool', 'held')).toContainEqual(
          expect.stringMatching(/^DisruptionPaused: .*NodePool held is paused by .* for ann: release day$/),
        );
      },
      patience,
    );

    test(
      'why a pod runs where it does takes three lines at most, and asking leaves no trace in reports',
      async () => {
        const { stdout } = await people.stowage('why', `pod/${await people.podName('closed')}`);
        expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
        expect(stdout).toContain(await people.node('closed'));
        const report = (await people.stowage('report', '--since', '1h', '-o', 'json')).stdout;
        expect(report).not.toContain('explainPod');
        // Nothing expired: nodes were consolidated and drifted, and each has a workflow that waits for the end of its life.
        expect(report).not.toMatch(/"reason": "expired"/);
      },
      patience,
    );

    test(
      'the report is one HTML page that loads nothing from elsewhere',
      async () => {
        const { stdout } = await people.stowage('report', '--since', '1h', '-o', 'html');
        expect(stdout).toMatch(/<svg/);
        expect(stdout).toContain('it burns');
        expect(stdout).not.toMatch(/(src|href)="(https?:)?\/\//);
      },
      patience,
    );
  });
}

const everything = ['blocked', 'disrupted', 'failed', 'forced', 'launched', 'paused', 'question'];

export function notifications(people: People, receiver: () => Receiver): void {
  test(
    'every notification reaches its receiver, signed, though each first attempt fails',
    async () => {
      const taken = (): string[] => [...receiver().taken()].map((type) => type.replace('dev.stowage.', '')).sort();
      await people.until('Every type of notification', () =>
        Promise.resolve(everything.every((type) => taken().includes(type))),
      );
      expect([taken(), receiver().forged()]).toEqual([everything, 0]);
    },
    patience,
  );
}
