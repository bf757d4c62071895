import { Client } from '@temporalio/client';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { approveSignal, explainQuery } from '../../workflows/messages.js';
import { refused } from './bad-orders.js';
import { pageOfQuestion } from './page.js';
import { patience, section, type People } from './people.js';
import { allowCheaper, changeTemplate } from './situations.js';

/** The same nodes give the same id: what disrupts them now may answer. */
const over = /it is over: |no such workflow is running|nothing awaits approval: the phase is /;

/** One NodePool is asked about after the other: two that wait at a time would be one question. */
export function questions(people: People): void {
  describe('a question to a person', () => {
    /** Nodes and questions by NodePool. */
    const nodes: Record<string, string> = {};
    const asked: Record<string, string> = {};
    const nodeOf = (name: string): string => nodes[name] ?? '';
    const idOf = (name: string): string => asked[name] ?? '';

    const ask = async (name: string): Promise<void> => {
      nodes[name] = await people.node(name);
      if (name !== 'asked') await allowCheaper(people.world, name, 'asked');
      asked[name] = await people.question(nodeOf(name));
    };
    const isOver = (id: string): Promise<true> =>
      people.until(`${id} not asked any more`, async () => !(await people.status()).includes(`approve ${id}`));

    beforeAll(() => ask('asked'), patience);

    pageOfQuestion(people, () => ({ id: idOf('asked'), node: nodeOf('asked') }));

    test(
      'shows as text and as JSON what yes does, what happens without an answer, and how to answer',
      async () => {
        const needed = section(await people.status(), 'Needs you');
        expect(needed).toMatch(
          new RegExp(
            `waits for approval to disrupt ${nodeOf('asked')}, Underutilized \\(DisruptionPolicy asked asks\\)\n` +
              '    yes launches 1 replacement, evicts 1 pod and terminates 1 node, and saves [\\d.]+ USD an hour; PodDisruptionBudgets and do-not-disrupt hold\n' +
              '    without an answer until \\S+Z: it is rejected\n' +
              '    pods: default/asked-\\S+ → the new node\n' +
              `    stowage approve ${idOf('asked')}\n    stowage reject ${idOf('asked')}`,
          ),
        );
        const { workflows } = JSON.parse((await people.stowage('status', '-o', 'json')).stdout) as {
          workflows: readonly { workflowId: string; question?: { until: string } }[];
        };
        const until = workflows.find(({ workflowId }) => workflowId === idOf('asked'))?.question?.until ?? '';
        expect(Date.parse(until)).toBeGreaterThan(Date.now());
        expect(await people.events('Node', nodeOf('asked'))).toContainEqual(
          expect.stringMatching(/^(Consolidation)?AwaitsApproval: approval to disrupt .*: yes launches 1 replacement/),
        );
      },
      patience,
    );

    test(
      "reports a signal without input as invalid in the workflow's details",
      async () => {
        const handle = new Client({ connection: people.world.temporal }).workflow.getHandle(idOf('asked'));
        await handle.signal(approveSignal as never);
        await people.until('The refusal noted in the workflow', async () => {
          const { facts } = await handle.query(explainQuery);
          return String(facts['last order refused'] ?? '').includes('approve');
        });
      },
      patience,
    );

    test(
      'takes no budget while it waits: drift begins in the same budget of one, and ends the question',
      async () => {
        await changeTemplate(people.world, 'asked');
        await isOver(idOf('asked'));
        refused(await people.stowage('approve', idOf('asked'), '--because', 'yes after all'), over);
      },
      patience,
    );

    test(
      'ends with its cause, and says so',
      async () => {
        await ask('withdrawn');
        const spec = { disruption: { consolidateAfter: 'Never' } };
        await people.world.kube.patch('NodePool', { name: 'withdrawn' }, { spec });
        await isOver(idOf('withdrawn'));
        refused(await people.stowage('approve', idOf('withdrawn')), over);
        const life = await people.stowage('history', 'node', nodeOf('withdrawn'));
        expect(life.stdout).toContain('withdrawn: consolidateAfter is Never for NodePool withdrawn now');
      },
      patience,
    );

    test(
      "approved by the claim's name reaches the workflow that can be approved, and the answer has the new state",
      async () => {
        await ask('agreed');
        const claim = (await people.claimOf(nodeOf('agreed'))).metadata.name ?? '';
        const yes = await people.stowage('approve', claim, '--because', 'it may', '--as', 'ann');
        expect([yes.code, yes.stderr]).toEqual([0, '']);
        expect(yes.stdout).toMatch(new RegExp(`^Approved ${idOf('agreed')}\nNow: (?!.*approval)`));
      },
      patience,
    );

    test(
      'rejected once is shown as rejected until an order undoes it, and other disruptions of the node go on',
      async () => {
        await ask('refused');
        const node = nodeOf('refused');
        const no = await people.stowage('reject', idOf('refused'), '--because', 'not now');
        expect([no.code, no.stderr]).toEqual([0, '']);
        expect(no.stdout).toMatch(new RegExp(`^Rejected ${idOf('refused')}\nNow: rejected`));
        // Twice, contradicting and too late.
        const late = ['reject', 'approve', 'abort', 'hold', 'expedite', 'retry'];
        const again = await Promise.all(late.map((order) => people.stowage(order, idOf('refused'), '--because', 'x')));
        again.forEach((said) => refused(said, over));

        const status = await people.says(/Rejected/, 'status');
        expect(section(status, 'Rejected')).toMatch(new RegExp(`${node} .*Underutilized .*not now`));
        expect((await people.stowage('why', `node/${node}`)).stdout).toContain(`stowage reconsider --node ${node}`);
        const undone = await people.stowage('reconsider', '--node', node, '--because', 'now it may');
        expect([undone.code, undone.stdout]).toEqual([0, 'Nothing is refused any more.\n']);
        refused(await people.stowage('reconsider', '--node', node), /nothing is refused for/);

        const second = await people.question(node);
        expect((await people.stowage('reject', second, '--because', 'nor now')).code).toBe(0);
        await changeTemplate(people.world, 'refused');
      },
      patience,
    );

    test(
      'approved, replaces the node; a rejected consolidation does not keep its node from being replaced for drift',
      async () => {
        const isElsewhere = async (name: string): Promise<boolean> =>
          ![nodeOf(name), ''].includes(await people.node(name));
        await Promise.all(
          ['asked', 'refused', 'agreed'].map((name) => people.until(`${name} elsewhere`, () => isElsewhere(name))),
        );
      },
      patience,
    );

    test(
      "is part of the node's history over all its workflows",
      async () => {
        const words = [/launched/i, /proposed \(Underutilized\)/, /approved by .* for ann \(it may\)/, /drain/];
        const stdout = await people.says(/disruption done/, 'history', 'node', nodeOf('agreed'));
        expect(words.filter((some) => !some.test(stdout))).toEqual([]);
      },
      patience,
    );
  });
}
