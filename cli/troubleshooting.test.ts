import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { readSettings } from '../process/settings.js';
import { createFakeKube } from '../simulation/kube/fake.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import { installationChecks } from './doctor/installation.js';
import type { EngineReader } from './doctor/ports.js';
import { describedCommands } from './program.js';

const page = readFileSync('docs/troubleshooting.md', 'utf8');

/** Every call of stowage on the page: in a block or in backticks, up to a comment. */
const calls = [...page.matchAll(/(?:^|`|-- )stowage (\w[^`\n#]*)/gm)].map(([, rest = '']) => rest.trim());

describe('docs/troubleshooting.md', () => {
  let commands: Awaited<ReturnType<typeof describedCommands>>;

  beforeAll(async () => {
    commands = await describedCommands();
  });

  test('calls only commands that there are, with options that they take', () => {
    expect(calls.length).toBeGreaterThan(20);
    for (const call of calls) {
      const command = commands.get(call.split(' ')[0]!);
      expect([call, command]).not.toEqual([call, undefined]);
      const options = command!.flatMap((each) => each.options.flatMap(({ long, short }) => [long, short]));
      const unknown = (call.match(/(?<= )--?[a-z][a-z-]*/g) ?? []).filter((given) => !options.includes(given));
      expect([call, unknown]).toEqual([call, []]);
    }
  });

  test('has a row for each check of stowage doctor, and for no other', () => {
    const unused: unknown = undefined;
    const checks = installationChecks({
      settings: readSettings({ CLUSTER_NAME: 'c' }),
      kube: createFakeKube(),
      engine: unused as EngineReader,
      accountOf: () => undefined,
      clock: createManualClock(),
    });
    const [, rest = ''] = page.split('## What stowage doctor checks');
    const [table = ''] = rest.split('\n## ');
    const rows = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);

    expect(rows).toEqual(checks.map(({ name }) => name));
  });

  test('links to sections that there are', () => {
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
    const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor);

    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
  });
});
