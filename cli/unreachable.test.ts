import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commandTexts } from './command-texts.js';
import { exitStatus } from './exit.js';
import { failureOf } from './failure.js';
import { liveCommands } from './live-commands.js';
import { planLive } from './plan-live.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-unreachable-'));
const kubeconfig = join(folder, 'config');
writeFileSync(
  kubeconfig,
  JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'a', user: {} }],
  }),
);
afterAll(() => rmSync(folder, { recursive: true }));

const settings = ['--cluster-name', 'c', '--temporal-address', '127.0.0.1:1', '--kubeconfig', kubeconfig];
/** Those that start without Temporal: processes that wait for it or for questions, one that lists what is away, and what needs the cloud alone. */
const others = ['run', 'mcp', 'doctor', 'codec-server', 'catalogue'];
const names = [...liveCommands.keys()].filter((name) => !others.includes(name));

/** The arguments of its example, but for what only the shell takes. */
const argumentsOf = (name: keyof typeof commandTexts): string[] =>
  [...commandTexts[name].example.replace(/>.*/, '').matchAll(/'([^']*)'|(\S+)/g)]
    .map(([, quoted, plain]) => quoted ?? plain!)
    .slice(2)
    .filter((argument) => argument !== '--watch');

/** How it fails; undefined where it does not. */
const failing = (work: Promise<unknown>): Promise<ReturnType<typeof failureOf> | undefined> =>
  work.then(() => undefined, failureOf);

let failures: ReadonlyMap<string, Awaited<ReturnType<typeof failing>>>;
// All at once: each waits for seconds to be connected.
beforeAll(async () => {
  const found = names.map(async (name) => {
    const { run } = await liveCommands.get(name)!();
    return [name, await failing(run([...argumentsOf(name), ...settings]))] as const;
  });
  failures = new Map(await Promise.all(found));
});

test.each(names)('%s: an unreachable Temporal is reported in one line with its address, and exit status 1', (name) => {
  expect(failures.get(name)).toEqual({
    status: exitStatus.failed,
    said: expect.stringMatching(/^stowage: Temporal cannot be reached at 127\.0\.0\.1:1: [^\n]+\n$/),
  });
});

test('plan: an unreachable API server is reported at once with its address', async () => {
  const cloud = ['--cloud-provider', 'kwok', '--instance-types-file-path', 'examples/instance-types.json'];
  expect(await failing(planLive([...cloud, ...settings]))).toEqual({
    status: exitStatus.failed,
    said: expect.stringMatching(/^stowage: [^\n]*https:\/\/127\.0\.0\.1:1[^\n]*ECONNREFUSED[^\n]*\n$/),
  });
});
