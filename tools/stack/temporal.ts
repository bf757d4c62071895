import { join } from 'node:path';
import { tool, type Component, type StackContext } from './components.js';
import { answers } from './http.js';

/**
 * The dev server has one history shard, and a shard loads its queues at most 20 times a second by default, which
 * costs 100 ms an activity; a production server has hundreds of shards. These settings take the limit away. The file
 * need not outlive a crash of the machine, only of the server: it is not waited for until it is on the disk.
 */
const lowLatency = [
  '--dynamic-config-value=history.transferProcessorMaxPollRPS=1000',
  '--dynamic-config-value=history.timerProcessorMaxPollRPS=1000',
  '--dynamic-config-value=system.enableActivityEagerExecution=true',
  '--sqlite-pragma=journal_mode=WAL',
  '--sqlite-pragma=synchronous=OFF',
];

/** Temporal's dev server with its UI, on a SQLite file. */
export function temporalComponent(context: StackContext): Component {
  const { temporal, temporalUi, temporalMetrics } = context.ports;
  return {
    name: 'temporal',
    part: 'temporal',
    address: `127.0.0.1:${temporal}, UI http://127.0.0.1:${temporalUi}`,
    command: tool(context, 'temporal'),
    args: [
      'server',
      'start-dev',
      '--ip=127.0.0.1',
      `--port=${temporal}`,
      `--ui-port=${temporalUi}`,
      `--metrics-port=${temporalMetrics}`,
      `--db-filename=${join(context.folder, 'data/temporal.db')}`,
      '--log-level=warn',
      ...lowLatency,
      ...Object.entries(context.temporalSettings ?? {}).map(
        ([name, value]) => `--dynamic-config-value=${name}=${value}`,
      ),
    ],
    // SQLite in Go leaves much garbage and little live memory: collecting it at every doubling takes a tenth of the CPU.
    env: { GOGC: '400' },
    // The UI asks the frontend: an answer means that both serve and the namespace is there.
    ready: () => answers(`http://127.0.0.1:${temporalUi}/api/v1/namespaces/default`),
    graceMs: 5000,
  };
}
