// The page of the operator in Chromium, in the situations that are there.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { endpoints } from '../../cli/page/api.js';
import type { PageSnapshot } from '../../cli/page/snapshot.js';
import { whySchema } from '../../cli/why-answers.js';
import { chromium, Tab } from '../builders/chromium.js';
import { apply } from '../live/kubectl.js';
import { patience, type People } from './people.js';

const inBrowser = chromium === undefined ? describe.skip : describe;

/** Opens a tab for the tests of a `describe`. */
function tabOf(people: People): { readonly at: (hash?: string) => Promise<Tab> } {
  let tab: Tab | undefined;
  beforeAll(async () => void (tab = await Tab.open()));
  afterAll(() => tab?.close());
  return {
    at: async (hash = '') => {
      await tab!.window(1440);
      await tab!.navigate(`${people.world.stack.pageUrl}/${hash}`);
      await tab!.until(`document.querySelector('canvas, table') !== null`);
      return tab!;
    },
  };
}

const read = async <T>(people: People, path: string): Promise<T> => {
  const response = await fetch(`${people.world.stack.pageUrl}/api/v1/${path}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
};

/** Until the page has the text, or with it in the failure. */
const shows = (people: People, tab: Tab, text: string): Promise<true> =>
  people.until(`"${text}" on the page`, async () => (await tab.text()).includes(text));

/** While somebody is asked about a consolidation; `asked` has the id of its workflow and its node. */
export function pageOfQuestion(people: People, asked: () => { readonly id: string; readonly node: string }): void {
  inBrowser('the page in Chromium (surfaces/page)', () => {
    const page = tabOf(people);

    test(
      'first what needs a person and what it costs, then the cluster, and what is about to happen',
      async () => {
        const tab = await page.at();
        const { id } = asked();
        for (const text of [
          ...['needs you', 'price', '/month', 'lower bound', 'saved in 24 hours', 'pods that wait', 'DaemonSets'],
          ...[
            'yes launches 1 replacement, evicts 1 pod and terminates 1 node',
            'it is rejected',
            'without an answer until',
          ],
          ...[`stowage approve ${id}`, 'About to happen', 'Underutilized', '1 pod moves', 'NodePools', 'What happened'],
          ...['no instance type that the pod may use has nvidia.com/gpu', 'did you mean topology.kubernetes.io/zone'],
          ...['release day', 'the requirements leave no value for karpenter.sh/capacity-type'],
        ])
          await shows(people, tab, text);
        expect(tab.complaints).toEqual([]);
        const origin = new URL(people.world.stack.pageUrl ?? '').origin;
        expect(tab.requests.filter((url) => !/^(data|about):/.test(url) && !url.startsWith(origin))).toEqual([]);
        await tab.picture('live-light');
        const dark = await page.at(`#theme=dark&command=${encodeURIComponent(id)}`);
        await dark.until(`document.querySelector('canvas').width > 300`);
        expect(await dark.findings()).toEqual([]);
        await dark.picture('live-dark-command');
      },
      patience,
    );

    test(
      'a command that is pointed at is drawn with its new node and the way of its pods',
      async () => {
        const tab = await page.at();
        await shows(people, tab, 'About to happen');
        const { commands } = await read<PageSnapshot>(people, 'snapshot');
        const command = commands.find(({ workflowId }) => workflowId === asked().id);
        expect(command).toMatchObject({ launches: [{ name: 'new node 1' }], moves: [{ to: 'new node 1' }] });
        expect(command!.moves[0]!.from).toBe(asked().node);
        await tab.until(`document.querySelector('canvas').width > 300`);
        const drawn = `document.querySelector('canvas').toDataURL()`;
        await tab.value(`window.before = ${drawn}`);
        await tab.value(`document.querySelector('[aria-pressed]').focus()`);
        await tab.until(`${drawn} !== before`);
      },
      patience,
    );

    test(
      'keys walk to a node: why it stays, its life with links into the Temporal UI, its pods and its orders; by zone, by type, by memory',
      async () => {
        const tab = await page.at();
        await tab.press('j');
        await tab.until(`location.hash.startsWith('#node=')`);
        await tab.press('Escape');
        await tab.press('/');
        await tab.send('Input.insertText', { text: 'deployment/guarded' });
        await tab.until(`document.body.innerText.includes('1 of ')`);
        await tab.value(`document.activeElement.blur()`);
        await tab.press('k');
        const node = await people.node('guarded');
        await tab.until(`location.hash.includes('node=${node}')`);
        for (const text of [
          'PodDisruptionBudget default/guarded forbids',
          'launched',
          'default/guarded-',
          'stowage hold',
        ])
          await shows(people, tab, text);
        const link = await tab.value<string>(`document.querySelector('aside .life a').href`);
        expect(link.startsWith(people.world.stack.temporalUiUrl ?? 'no UI')).toBe(true);
        expect((await fetch(link)).status).toBe(200);
        expect(await tab.findings()).toEqual([]);
        await tab.picture('live-drawer');
        for (const hash of ['#group=zone', '#group=type&resource=memory', '#group=capacityType', '#view=table']) {
          await page.at(hash);
          expect(await tab.value('location.hash')).toBe(hash);
        }
        await shows(people, tab, 'm5.2xlarge');
      },
      patience,
    );

    test(
      'a pod that waits: why, and what would be nearest; back in time: who ordered what',
      async () => {
        const pod = `default/${await people.podName('limited')}`;
        const tab = await page.at(`#pod=${encodeURIComponent(pod)}`);
        await shows(people, tab, 'the limits of the NodePool leave no room');
        await page.at('#past=6h');
        await tab.until(`document.querySelector('.ticker li .kind.pause, .ticker li .kind.ready') !== null`);
        await shows(people, tab, 'PROMETHEUS_URL gives earlier ones');
      },
      patience,
    );

    test(
      'figures: how long after a change of the cluster the page draws it',
      async () => {
        const tab = await page.at(`#view=table&search=${await people.node('cheapest')}`);
        const name = await people.node('cheapest');
        const took: number[] = [];
        for (let i = 0; i < 6; i++) {
          const value = i % 2 === 0 ? 'true' : null;
          const began = Date.now();
          await people.world.kube.patch(
            'Node',
            { name },
            { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value as string } } },
          );
          await tab.until(`document.querySelector('tbody').innerText.includes('do-not-disrupt') === ${value !== null}`);
          took.push(Date.now() - began);
        }
        process.stdout.write(`page: changes were drawn after ${took.join(', ')} ms\n`);
      },
      patience,
    );

    test(
      'the API gives what the commands print, as its OpenAPI document says',
      async () => {
        const { paths } = await read<{ paths: object }>(people, 'openapi.json');
        expect(Object.keys(paths)).toEqual(endpoints.map(({ path }) => path));
        const node = await people.node('cheapest');
        const claim = (await people.claimOf(node)).metadata.name ?? '';
        const names: Record<string, string> = { nodes: node, nodeclaims: claim, nodepools: 'closed', pods: 'default' };
        for (const { path, schema, read: isRead } of endpoints) {
          if (isRead === undefined) continue;
          const kind = path.split('/')[3] ?? '';
          const asks = path
            .replace('/api/v1/', '')
            .replace('{namespace}', 'default')
            .replace('{name}', kind === 'pods' ? await people.podName('limited') : (names[kind] ?? ''));
          const answer = await read(people, asks);
          // What a schema does not know it leaves out.
          expect({ path, answer: schema.parse(answer) }).toEqual({ path, answer });
        }
        const printed = await people.stowage('why', 'nodepool/closed', '-o', 'json');
        const said = whySchema.parse(await read(people, 'nodepools/closed/why'));
        expect(said.answer).toBe(whySchema.parse(JSON.parse(printed.stdout)).answer);
      },
      patience,
    );

    test(
      'a user who may list nodes, NodePools and pods sees the page, and one of a namespace sees nothing',
      async () => {
        const { stack } = people.world;
        const account = (name: string) => ({
          ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } },
        });
        const binding = (kind: 'ClusterRoleBinding' | 'RoleBinding', name: string) => ({
          ...{
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind,
            metadata: { name: `page-${name}`, namespace: 'default' },
          },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
        });
        await apply(stack, [
          ...['reader', 'namespaced'].map(account),
          binding('ClusterRoleBinding', 'reader'),
          binding('RoleBinding', 'namespaced'),
        ]);
        const status = async (name: string, path: string): Promise<number> => {
          const args = ['--kubeconfig', stack.adminKubeconfig ?? '', '-n', 'default', 'create', 'token', name];
          const { stdout } = await promisify(execFile)(stack.kubectl ?? '', args);
          const response = await fetch(`${stack.pageUrl}${path}`, {
            headers: { authorization: `Bearer ${stdout.trim()}` },
          });
          const text = await response.text();
          expect(response.status === 200 || !text.includes('cheapest')).toBe(true);
          return response.status;
        };
        for (const path of ['/', '/api/v1/snapshot', '/api/v1/status', '/snapshot.html'])
          expect([path, await status('reader', path), await status('namespaced', path)]).toEqual([path, 200, 403]);
        const forged = await fetch(`${stack.pageUrl}/`, { headers: { authorization: 'Bearer forged' } });
        expect(forged.status).toBe(401);
      },
      patience,
    );

    test(
      'stowage status -o html is the page as it is, in one file',
      async () => {
        const { stdout, code, stderr } = await people.stowage('status', '-o', 'html');
        expect([code, stderr]).toEqual([0, '']);
        expect(stdout).toContain(`stowage approve ${asked().id}`);
      },
      patience,
    );
  });
}

/** While drains are blocked, and somebody is asked about the third. */
export function pageOfDrains(people: People, nodeOf: (name: string) => string): void {
  inBrowser('blocked drains on the page in Chromium (surfaces/page)', () => {
    const page = tabOf(people);
    test(
      'what blocks each and the orders that end it, and what yes breaks',
      async () => {
        const tab = await page.at();
        for (const text of [
          ...['drain blocked', 'pdb/default/guarded', `force the drain of ${nodeOf('escalated')}?`],
          ...['yes deletes the pods default/escalated-', 'Force follows', '--force', 'draining'],
        ])
          await shows(people, tab, text);
        await tab.picture('live-drains');
      },
      patience,
    );
  });
}

/** Once Temporal is down. */
export async function pageWithoutTemporal(people: People): Promise<void> {
  if (chromium === undefined) return;
  const tab = await Tab.open();
  try {
    await tab.window(1440);
    await tab.navigate(people.world.stack.pageUrl ?? '');
    await tab.until(`document.querySelector('[role=alert]')?.innerText.includes('Temporal does not answer')`);
    for (const text of ['(since ', 'NodePools', '/month', 'release day']) await shows(people, tab, text);
    await tab.picture('live-no-temporal');
  } finally {
    await tab.close();
  }
}
