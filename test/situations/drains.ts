import { beforeAll, describe, expect, test } from '@jest/globals';
import { kubectl } from '../live/kubectl.js';
import { refused } from './bad-orders.js';
import { pageOfDrains } from './page.js';
import { patience, section, type People } from './people.js';

const blocked = ['guarded', 'escalated', 'marked'];

export function drains(people: People): void {
  describe('a drain that does not finish', () => {
    const nodes: Record<string, string> = {};
    let needed = '';

    beforeAll(async () => {
      for (const name of blocked) nodes[name] = await people.node(name);
      const claims = await Promise.all(Object.values(nodes).map((node) => people.claimOf(node)));
      const names = claims.map(({ metadata }) => metadata.name ?? '');
      await kubectl(people.world.stack, ['delete', 'nodeclaim', ...names, '--wait=false']);
      await people.until('Two blocked drains, and a question about the third', async () => {
        needed = section(await people.status(), 'Needs you');
        return (needed.match(/is blocked, draining/g) ?? []).length === 2 && needed.includes('force the drain of');
      });
    }, patience);

    pageOfDrains(people, (name) => nodes[name] ?? '');

    test(
      'the question for a forced step names its pods, what yes deletes and when, and what follows; a bare yes is refused, and no keeps the pod',
      async () => {
        const pod = await people.podName('escalated');
        const lines = new RegExp(
          `asks: force the drain of ${nodes['escalated']}\\?\n` +
            `    yes deletes the pods default/${pod}, which pdb/default/escalated.* protects; each keeps its own grace\n` +
            '    no ends the escalation\n' +
            '    without an answer until (\\S+): Force follows\n' +
            '    stowage approve (\\S+) --force\n',
        );
        const [, until = '', id = ''] = lines.exec(needed) ?? [needed];
        expect(needed).toMatch(lines);
        expect(Date.parse(until)).toBeGreaterThan(Date.now());
        refused(await people.stowage('approve', id, '--because', 'x'), new RegExp(`default/${pod}, which .*--force`));
        for (const order of ['abort', 'hold'])
          refused(await people.stowage(order, id), /too late to (abort|hold): draining/);

        const no = await people.stowage('reject', id, '--because', 'it stays');
        expect([no.code, no.stdout]).toEqual([0, expect.stringMatching(/^Rejected \S+\nNow: draining/)]);
        refused(await people.stowage('reject', id), /nothing awaits approval: the phase is draining/);
        expect(await people.podName('escalated')).toBe(pod);
      },
      patience,
    );

    test(
      'held up by do-not-disrupt alone names who can end it and how, and ends when that is done',
      async () => {
        const pod = await people.podName('marked');
        expect(needed).toContain(`pod/default/${pod} is marked karpenter.sh/do-not-disrupt`);
        expect(needed).toContain(
          `can be ended by: the owner of the pod: kubectl -n default annotate pod ${pod} karpenter.sh/do-not-disrupt-`,
        );
        refused(await people.stowage('approve', nodes['marked'] ?? ''), /nothing waits for approval/);

        await kubectl(people.world.stack, ['-n', 'default', 'annotate', 'pod', pod, 'karpenter.sh/do-not-disrupt-']);
        await people.until('The pod evicted', async () => (await people.podName('marked')) !== pod);
      },
      patience,
    );

    test(
      "is forced only by an order with force, and the pods' events name the person who gave it",
      async () => {
        const node = nodes['guarded'] ?? '';
        const before = await people.podName('guarded');
        expect(needed).toContain('pdb/default/guarded');
        const without = await people.stowage('expedite', node, '--because', 'it burns');
        refused(without, new RegExp(`${before}.*guarded.*--force`, 's'));
        expect(await people.podName('guarded')).toBe(before);

        const forced = await people.stowage('expedite', node, '--force', '--because', 'it burns', '--as', 'ann');
        expect([forced.code, forced.stderr]).toEqual([0, '']);
        expect(forced.stdout).toMatch(/^Expedited \S+\nNow: .*\n(Force ordered|Forced) by .* for ann \(it burns\)/);
        await people.says(/forced by .* for ann/, 'history', 'node', node);
        // The history has the order at once; the event is published once the pod is deleted.
        await people.until(`The event of ${node}`, async () =>
          (await people.events('Node', node)).some((text) => /^DrainForced: .*for ann.*guarded/.test(text)),
        );
        const report = await people.says(/By force|by force/, 'report', '--since', '1h');
        expect(report).toContain('it burns');
      },
      patience,
    );
  });
}
