import { moduleOf, transpile } from './tools/build/transpile.mjs';
import { root } from './tools/root.mjs';

const folders =
  '{api,core,packing,disruption,cloud,kube,cluster,workflows,activities,worker,operator,process,cli,tools,test/cases,test/checker,test/simulation}';

const path = (name) => `${root}/${name}`;
/** Around the files of a project: functions that return how they are undone (test/jest/around.mjs). */
const around = (...names) => ({
  globals: { around: names.map((name) => moduleOf(path(name))) },
  globalSetup: path('test/jest/around.mjs'),
  globalTeardown: path('test/jest/around-end.mjs'),
});
const sharedMoto = 'test/live/shared-moto.ts';
const sharedFolder = 'test/workflow/shared-folder.mjs';
const sharedStack = 'test/integration/global-setup.ts';
const ownProcesses = { runner: [path('test/jest/runner.mjs'), { isolate: true }] };

const project = (displayName, testMatch, { ignored = [], ...more } = {}) => ({
  displayName,
  rootDir: root,
  testMatch: testMatch.map((glob) => `<rootDir>/${glob}`),
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/dist', '/testdata/', ...ignored],
  modulePathIgnorePatterns: ['<rootDir>/dist', '/testdata/'],
  watchPathIgnorePatterns: ['<rootDir>/dist'],
  runner: path('test/jest/runner.mjs'),
  setupFilesAfterEnv: [path('test/jest/setup.mjs')],
  cacheDirectory: path('node_modules/.cache/jest'),
  transform: {},
  moduleFileExtensions: ['ts', 'mjs', 'js', 'json', 'node'],
  // For what a change touches: sources import each other as the modules that they become.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  ...more,
});

/** One configuration, with a project for each folder of suites; `tools/test/test.mjs` runs them in order. */
export default async () => {
  await transpile();
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
  return {
    rootDir: root,
    testSequencer: path('test/live/own-worlds-first.mjs'),
    watchman: false,
    projects: [
      project('unit', [`${folders}/**/*.test.ts`], { setupFiles: [path('test/no-cluster.mjs')] }),
      // Karpenter's own tests as cases; `npm run generate -- conformance` lists them.
      project('conformance', ['test/conformance/**/*.test.ts']),
      project('property', ['test/property/**/*.test.ts']),
      // In simulated time; the same tests also on Temporal's own server that skips time, which some need.
      project('workflow', ['test/workflow/**/*.test.ts'], {
        ...around(sharedFolder),
        ignored: [
          'test/workflow/(builds|clock|encrypted-payloads|order-policy|renewed-connections|same-histories|traces)[.]test[.]ts',
        ],
      }),
      project('workflow-server', ['test/workflow/**/*.test.ts'], {
        ...around(sharedFolder),
        // After others in one process some of these files wait for ever.
        ...ownProcesses,
        setupFiles: [path('test/workflow/on-server.mjs')],
      }),
      project('replay', ['test/replay/**/*.test.ts']),
      // One file at a time: they script the faults of one cloud, and wait for it most of their time.
      project('integration-aws', ['test/integration/aws*.test.ts'], around(sharedStack, sharedMoto)),
      project('integration', ['test/integration/!(aws)*.test.ts'], around(sharedStack)),
      // Stowage as a process. Each file has its own stack but for moto, or one that an earlier file has left.
      project('live', ['test/{live,containment}/**/*.test.ts'], {
        ...around(sharedMoto, 'test/live/shared-worlds.ts'),
      }),
      // On one stack: questions to people, their orders, and what surfaces show.
      project('situations', ['test/situations/**/*.test.ts'], around(sharedMoto)),
      // Needs root and containers: `npm run suite -- install` gets what is missing, and no part of npm test.
      project('install', ['test/install/**/*.test.ts'], ownProcesses),
      // Not part of npm test yet: it finds what is still to be mended.
      project('hostile', ['test/hostile/**/*.test.ts'], ownProcesses),
    ],
  };
};
