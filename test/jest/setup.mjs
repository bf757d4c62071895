// Once in each process that runs tests, whose files follow one another there: what jest-light-runner leaves out of Jest.
import { inspect } from 'node:util';
import { addEventHandler } from 'jest-circus';

const minutes = 60_000;
/** For what waits for ever: crowded machines are slow, not wrong. */
const limit = 25 * minutes;

/** What a file did to its environment, mocks and unhandled rejections ends with it. */
const environment = { ...process.env };
const folder = process.cwd();
const unhandled = [];
process.on('unhandledRejection', (error) => unhandled.push(error));
// Jest waits for nothing that tests have left.
process.on('disconnect', () => process.exit());

function restoreProcess() {
  jest.restoreAllMocks();
  for (const name of Object.keys(process.env).filter((each) => !(each in environment))) delete process.env[name];
  Object.assign(process.env, environment);
  process.chdir(folder);
  process.exitCode = undefined;
  expect.setState({ hasFailures: false });
  const [error] = unhandled.splice(0);
  if (error !== undefined) throw new Error(`nothing handled a rejection: ${inspect(error)}`);
}

const prepared = new WeakSet();
const failed = new WeakMap();

/** jest-circus keeps the hooks of a file apart from its tests and gives them no default timeout here. */
addEventHandler(({ name }, { currentDescribeBlock, rootDescribeBlock }) => {
  if (!prepared.has(rootDescribeBlock)) {
    prepared.add(rootDescribeBlock);
    // Before the hook that this event may be of, which is the last.
    rootDescribeBlock.hooks.unshift({ type: 'afterAll', fn: restoreProcess });
  }
  if (name === 'add_test') {
    const test = currentDescribeBlock.children.at(-1);
    test.fn = unlessFailed(currentDescribeBlock, limited(test.fn));
  }
  if (name === 'add_hook') {
    const hook = currentDescribeBlock.hooks.pop();
    // What was set up last is taken down first.
    currentDescribeBlock.hooks[hook.type.startsWith('after') ? 'unshift' : 'push'](hook);
    hook.fn = hook.type === 'beforeAll' ? noting(currentDescribeBlock, limited(hook.fn)) : limited(hook.fn);
  }
});

/** A function without parameters, for a row of `each` that is shorter than its test asks for no callback. */
const limited = (fn) => async () => {
  report({});
  let timer;
  const late = new Promise((_, reject) => {
    const end = () => reject(new Error(`not over after ${limit / minutes} minutes`));
    timer = realTimeout(end, limit);
  });
  try {
    return await Promise.race([fn(), late]);
  } finally {
    realClear(timer);
  }
};
// Tests put others in their place.
const { setTimeout: realTimeout, clearTimeout: realClear } = globalThis;
const report = process.send.bind(process);

const noting = (block, fn) => async () => {
  try {
    await fn();
  } catch (error) {
    failed.set(block, error);
    throw error;
  }
};

/** What could not be set up is not tested. */
const unlessFailed = (block, fn) => async () => {
  try {
    for (let each = block; each !== undefined; each = each.parent)
      if (failed.has(each)) throw new Error('not run, for its beforeAll failed', { cause: failed.get(each) });
    await fn();
  } catch (error) {
    expect.setState({ hasFailures: true });
    throw error;
  }
};
