// jest-light-runner on the modules of dist.tests/ (tools/build/transpile.mjs). Jest knows tests by their sources: it finds, orders and names them so.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, resolve } from 'node:path';
import { createRunner } from 'jest-light-runner';
import { mirror, moduleOf } from '../../tools/build/transpile.mjs';

const LightRunner = createRunner({ runtime: 'child_process' });

export default class SourceRunner extends LightRunner {
  constructor(...config) {
    super(...config);
    // A single worker too: what tests leave open must not keep Jest's own process from its end.
    this._runtime = 'child_process';
  }

  runTests(tests, watcher, onStart, onResult, onFailure) {
    const sources = new Map(tests.map((test) => [{ ...test, path: moduleOf(test.path) }, test]));
    return super.runTests(
      [...sources.keys()],
      watcher,
      (test) => onStart(sources.get(test)),
      (test, result) => onResult(sources.get(test), ofSource(sources.get(test).path, result)),
      (test, error) =>
        onFailure(sources.get(test), { ...error, message: error.message, stack: inSources(error.stack) }),
    );
  }
}

function ofSource(testFilePath, result) {
  const testResults = result.testResults.map((test) => ({
    ...test,
    fullName: [...test.ancestorTitles, test.title].join(' '),
    failureMessages: test.failureMessages.map(inSources),
  }));
  return { ...result, testFilePath, testResults, failureMessage: inSources(result.failureMessage) };
}

/** A stack in places of sources. */
function inSources(stack = '') {
  return stack.replaceAll(/(?:file:\/\/)?(\/[^\s:()?]*\.js)(?:\?\d+)?:(\d+):(\d+)/g, (frame, path, line, column) =>
    path.startsWith(`${mirror}/`) ? placeOf(path, Number(line), Number(column)) : frame,
  );
}

const maps = new Map();

function placeOf(path, line, column) {
  if (!maps.has(path)) maps.set(path, new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8'))));
  const { originalSource, originalLine, originalColumn } = maps.get(path).findEntry(line - 1, column - 1);
  if (originalSource === undefined) return `${path}:${line}:${column}`;
  return `${resolve(dirname(path), originalSource)}:${originalLine + 1}:${originalColumn + 1}`;
}
