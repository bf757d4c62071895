// A process that runs the test files of one project, one after another (runner.mjs): jest-light-runner's worker without its pool, whose processes may
// miss the configuration and wait for it for ever.
import { inspect } from 'node:util';

const { default: run, setWorkerData } = await import(
  new URL('worker-runner.js', import.meta.resolve('jest-light-runner'))
);
const { send } = process;

process.on('message', async ({ config, path }) => {
  setWorkerData(config);
  try {
    send.call(process, { result: await run(path) });
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(`threw ${inspect(error)}`);
    send.call(process, { error: { message, stack } });
  }
});
