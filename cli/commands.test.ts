import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Command, Option } from 'commander';
import { describeSettings } from '../process/settings.js';
import { commandTexts, type CommandName } from './command-texts.js';
import { describedCommands, stowageProgram } from './program.js';
import { settingsTable } from './settings-command.js';

const names = Object.keys(commandTexts) as CommandName[];
const flags = describeSettings().flatMap(({ flag }) => flag ?? []);
let commands: ReadonlyMap<string, readonly Command[]>;

beforeAll(async () => {
  commands = await describedCommands();
});

const isSetting = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === 'Settings:';

/** What `stowage NAME --help` prints. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => void (text += part) });
  command.outputHelp();
  return text;
}

test('the table of commands has every command that exists, and no other', () => {
  expect([...commands.keys()].sort()).toEqual([...names].sort());
});

describe.each(names)('the --help of %s', (name) => {
  const command = (): Command => commands.get(name)![0]!;

  test('lists all options of the command', () => {
    const own = command().options.filter((option) => !isSetting(option));
    const head = helpOf(command()).split('\nSettings')[0]!;
    for (const { long } of own) expect(head).toContain(long);
  });

  test('lists settings under a heading, or refers to them', () => {
    const [own = '', settings = ''] = helpOf(command()).split('\nSettings');
    const taken = command().options.flatMap((option) => (isSetting(option) ? (option.long ?? []) : []));
    for (const flag of taken) expect(own.split(/\s+/)).not.toContain(flag);
    if (taken.length === flags.length && name !== 'run') expect(settings).toContain('stowage settings lists');
    else for (const flag of taken) expect(settings).toContain(flag);
  });

  test('has an example that its options allow', () => {
    const { example } = commandTexts[name];
    expect(helpOf(command())).toContain(`Example:\n  ${example}\n`);
    const known = commands.get(name)!.flatMap(({ options }) => options.flatMap(({ short, long }) => [short, long]));
    const used = example.split(/\s+/).filter((word) => word.startsWith('-'));
    expect(used.filter((flag) => !known.includes(flag))).toEqual([]);
    expect(example.startsWith(`stowage ${name}`)).toBe(true);
  });
});

test('stowage settings lists every setting', () => {
  const text = settingsTable();
  for (const { name, flag } of describeSettings()) expect(text).toContain(flag ?? name);
});

test('stowage --version shows the version of the package', async () => {
  let text = '';
  const program = stowageProgram().configureOutput({ writeOut: (part) => void (text += part) });
  await expect(program.parseAsync(['--version'], { from: 'user' })).rejects.toMatchObject({ exitCode: 0 });
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(text).toBe(`${version}\n`);
});

test('a command that reads files takes each option once, except --objects', async () => {
  const run = (...args: string[]) => stowageProgram().parseAsync(['plan', ...args], { from: 'user' });
  await expect(run('--objects', 'a', '--catalogue', 'b', '--catalogue', 'c')).rejects.toThrow(
    '--catalogue is given twice, with different values: it takes one value',
  );
  await expect(run('--objects', '/nowhere', '--objects', '/nosuch', '--catalogue', 'b')).rejects.not.toThrow('twice');
});

test.each([
  [['--object', 'a.yaml', '--catalogue', 'b.json'], '--objects'],
  [['--object=a.yaml'], '--objects'],
  [['--catalog', 'b.json'], '--catalogue'],
  [['--objects', 'a.yaml', '--catalogue', 'b.json', '--outptu', 'json'], '--output'],
])('plan %j: an unknown option is reported with the one that was probably meant', async (args, meant) => {
  let said = '';
  const program = stowageProgram();
  const plan = program.commands.find((command) => command.name() === 'plan')!;
  plan.configureOutput({ writeErr: (text) => void (said += text) }).exitOverride();
  await expect(program.parseAsync(['plan', ...args], { from: 'user' })).rejects.toThrow();
  expect(said).toMatch(/unknown option '--(object|catalog|outptu)/);
  expect(said).toContain(`(Did you mean ${meant}?)`);
});
