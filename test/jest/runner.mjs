// Runs the modules of dist.tests/ (tools/build/transpile.mjs) in plain Node. Jest knows tests by their sources: it finds, orders and names them so.
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mirror, moduleOf } from '../../tools/build/transpile.mjs';

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));
const minute = 60_000;
/** setup.mjs ends every test and hook before. */
const longestSilence = 30 * minute;
/** For what a process does on exit. */
const timeToEnd = 10_000;

/** `isolate`: each file in a process that runs no other. */
export default class SourceRunner {
  constructor(globalConfig, _, { isolate = false } = {}) {
    this.globalConfig = globalConfig;
    this.isolate = isolate;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const waiting = [...tests];
    const follow = async () => {
      const processes = new Map();
      for (let test = waiting.shift(); test !== undefined; test = waiting.shift()) {
        await onStart(test);
        const { result, error } = await this.processFor(test, processes).run(test.path);
        if (error === undefined) await onResult(test, ofSource(test.path, result));
        else await onFailure(test, { message: error.message, stack: inSources(error.stack) });
      }
      for (const each of processes.values()) each.end();
    };
    await Promise.all(Array.from({ length: Math.min(this.globalConfig.maxWorkers, tests.length) }, follow));
  }

  /** `processes`: by project, those of one of the workers that Jest is allowed. */
  processFor({ context: { config: projectConfig } }, processes) {
    const last = processes.get(projectConfig);
    if (last !== undefined && !last.ended && !this.isolate) return last;
    last?.end();
    const next = new TestProcess({ globalConfig: this.globalConfig, projectConfig, runtime: 'child_process' });
    processes.set(projectConfig, next);
    return next;
  }
}

/** Each file that it is given comes to a result or an error, however the process ends or falls silent. */
class TestProcess {
  ended = false;
  settle = () => undefined;

  constructor(config) {
    this.config = config;
    this.child = fork(worker);
    this.child.on('message', (said) => this.hear(said));
    this.child.on('error', ({ message }) => this.lose(`its process failed: ${message}`));
    this.child.on('exit', (code, signal) => this.lose(`its process ended with ${signal ?? `exit code ${code}`}`));
  }

  async run(path) {
    const words = `its process ended no test or hook for ${longestSilence / minute} minutes`;
    this.silent = setTimeout(() => this.lose(words), longestSilence);
    try {
      return await new Promise((resolve) => {
        this.settle = resolve;
        this.child.send({ config: this.config, path: moduleOf(path) });
      });
    } finally {
      clearTimeout(this.silent);
      this.silent = undefined;
    }
  }

  hear({ result, error }) {
    if (result === undefined && error === undefined) this.silent?.refresh();
    else this.settle({ result, error });
  }

  lose(why) {
    this.ended = true;
    this.child.kill('SIGKILL');
    const message = `the file was not over when ${why}`;
    this.settle({ error: { message, stack: message } });
  }

  end() {
    if (this.ended) return;
    const killing = setTimeout(() => this.child.kill('SIGKILL'), timeToEnd);
    this.child.on('exit', () => clearTimeout(killing));
    this.child.disconnect();
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
