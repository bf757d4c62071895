import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, jest, test } from '@jest/globals';
// @ts-expect-error: a script without types
import Untyped from '../../test/jest/runner.mjs';

type Runner = new (globalConfig: object) => {
  runTests(
    tests: readonly object[],
    watcher: object,
    onStart: (test: object) => Promise<void>,
    onResult: (test: { readonly path: string }, result: { readonly failureMessage: string }) => void,
    onFailure: (test: { readonly path: string }, error: Error) => void,
  ): Promise<void>;
};
const SourceRunner = Untyped as Runner;

/** Modules of tests are in a mirror of the repository. */
const here = fileURLToPath(new URL('.', import.meta.url));
const root = resolve(here, '../../..');
const folder = mkdtempSync(join(here, 'made-'));
afterAll(() => rmSync(folder, { recursive: true }));

const passes = 'test("passes", () => undefined);';

/** What Jest hears of files that follow one another in one process, by name. */
async function outcomes(files: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const projectConfig = {
    rootDir: root,
    setupFiles: [],
    setupFilesAfterEnv: [join(root, 'test/jest/setup.mjs')],
    snapshotSerializers: [],
    transform: [],
    transformIgnorePatterns: [],
    moduleFileExtensions: [],
  };
  const tests = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, `${name}.js`), text);
    return { path: join(root, 'tools/test', basename(folder), `${name}.ts`), context: { config: projectConfig } };
  });
  const heard: Record<string, string> = {};
  const nameOf = ({ path }: { readonly path: string }): string => basename(path, '.ts');
  await new SourceRunner({ maxWorkers: 1, testNamePattern: null }).runTests(
    tests,
    {},
    () => Promise.resolve(),
    (file, { failureMessage }) => void (heard[nameOf(file)] = failureMessage),
    (file, { message }) => void (heard[nameOf(file)] = message),
  );
  return heard;
}

test('a file whose process ends before it has a result fails by its name, and the next file is run', async () => {
  const late = 'new Promise(() => setTimeout(() => { throw new Error("nothing catches this"); }))';
  expect(
    await outcomes({
      exits: 'test("t", () => process.exit(0));',
      killed: 'test("t", () => process.kill(process.pid, "SIGKILL"));',
      throws: `test("t", () => ${late});`,
      disconnects: 'test("t", () => process.disconnect());',
      rejects: 'test("t", () => { throw undefined; });',
      next: passes,
    }),
  ).toEqual({
    exits: 'the file was not over when its process ended with exit code 0',
    killed: 'the file was not over when its process ended with SIGKILL',
    throws: 'the file was not over when its process ended with exit code 1',
    disconnects: 'the file was not over when its process ended with exit code 0',
    rejects: "Cannot read properties of undefined (reading 'stack')",
    next: '',
  });
});

test.each([
  ['is never loaded', 'process.send({}); await new Promise(() => undefined);'],
  ['loops for ever in a test', 'test("t", () => { for (;;); });'],
  [
    'waits under fake timers in a hook that is the first',
    'beforeAll(() => (jest.useFakeTimers(), new Promise(() => undefined)));',
  ],
])('a file that %s fails by its name when its time is over, and the next file is run', async (_, lost) => {
  // The time is over as soon as the file is where it stays.
  const elapse = (over: () => void): object => ({ refresh: over });
  jest.spyOn(globalThis, 'setTimeout').mockImplementationOnce(elapse as unknown as typeof setTimeout);
  const why = 'the file was not over when its process ended no test or hook for 30 minutes';
  expect(await outcomes({ lost, next: passes })).toEqual({ lost: why, next: '' });
});
