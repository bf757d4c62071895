import { defineConfig } from 'vitest/config';
import { OwnWorldsFirst } from './test/live/own-worlds-first.mjs';

const sources =
  '{api,core,packing,bound,disruption,cloud,kube,cluster,workflows,activities,worker,operator,process,cli,tools,test/cases,test/checker,test/simulation}';

const minutes = 60_000;
// Projects add to what stands below for all of them.
const sharedMoto = 'test/live/shared-moto.ts';
const onOwnStacks = { setupFiles: ['test/live/quick-start.mjs'], globalSetup: [sharedMoto] };
const sharedFolder = { globalSetup: ['test/workflow/shared-folder.mjs'] };

// What takes real time has the time that a crowded machine takes: a limit is there for what waits for ever, and no test sets its own.
const inRealTime = { isolate: false, testTimeout: 25 * minutes, hookTimeout: 25 * minutes };

const onSharedStack = {
  ...inRealTime,
  globalSetup: ['test/integration/global-setup.ts'],
};

const project = (name, include, more = {}) => ({ extends: true, test: { name, include, ...more } });

// One configuration, the suites told apart by folder; `tools/test/test.mjs` runs them in order.
export default defineConfig({
  // Sources are read from disk, once a process: there is no server to be warmed up, and nothing to be watched.
  server: { watch: null },
  test: {
    pool: 'forks',
    // Files follow one another in the same processes, and so read, compile and optimise code once: a quarter of the processor time.
    // test/restore-process.ts takes back what a file did to its process.
    isolate: false,
    setupFiles: ['test/restore-process.ts'],
    // A source is transformed once for all projects and runs, told by its content: two thirds of the processor time of vitest's own process.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest' },
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    // Crowded machines are slow, not wrong.
    testTimeout: 10 * minutes,
    hookTimeout: 10 * minutes,
    teardownTimeout: 2 * minutes,
    // Titles are told whole.
    taskTitleValueFormatTruncate: 0,
    exclude: ['**/node_modules/**', 'dist/**'],
    sequence: { sequencer: OwnWorldsFirst },
    projects: [
      project('unit', [`${sources}/**/*.test.ts`], { setupFiles: ['test/no-cluster.mjs'] }),
      // Karpenter's own tests as cases; `npm run generate -- conformance` lists them.
      project('conformance', ['test/conformance/**/*.test.ts']),
      project('property', ['test/property/**/*.test.ts']),
      // In simulated time; and the same on Temporal's own server that skips time, where some can be told of nothing else.
      project('workflow', ['test/workflow/**/*.test.ts'], {
        ...sharedFolder,
        exclude: [
          'test/workflow/{builds,clock,encrypted-payloads,order-policy,renewed-connections,same-histories,traces}.test.ts',
        ],
      }),
      project('workflow-server', ['test/workflow/**/*.test.ts'], {
        ...sharedFolder,
        ...inRealTime,
        // After others in one process some of these files wait for ever.
        isolate: true,
        env: { STOWAGE_TEST_TEMPORAL: 'server' },
      }),
      project('replay', ['test/replay/**/*.test.ts']),
      // One file at a time: they script the faults of one cloud, and wait for it most of their time.
      project('integration-aws', ['test/integration/aws*.test.ts'], {
        ...onSharedStack,
        globalSetup: [...onSharedStack.globalSetup, sharedMoto],
      }),
      project('integration', ['test/integration/!(aws)*.test.ts'], onSharedStack),
      // Stowage as a process. Each file has its own stack but for moto, or one that an earlier file has left.
      project('live', ['test/{live,containment}/**/*.test.ts'], {
        ...inRealTime,
        ...onOwnStacks,
        globalSetup: [...onOwnStacks.globalSetup, 'test/live/shared-worlds.ts'],
      }),
      // On one stack: what people are asked, order and are told.
      project('situations', ['test/situations/**/*.test.ts'], { ...inRealTime, ...onOwnStacks }),
      // Needs root and containers: `npm run suite -- install` gets what is missing, and no part of npm test.
      project('install', ['test/install/**/*.test.ts'], { ...inRealTime, isolate: true }),
      // Not part of npm test yet: it finds what is still to be mended.
      project('hostile', ['test/hostile/**/*.test.ts'], { ...inRealTime, isolate: true }),
    ],
  },
});
