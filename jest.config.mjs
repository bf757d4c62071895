const ignored = ['/node_modules/', '<rootDir>/dist/', '<rootDir>/.stryker-tmp/'];
const sharedFolder = {
  globalSetup: '<rootDir>/test/workflow/shared-folder.mjs',
  globalTeardown: '<rootDir>/test/workflow/remove-shared-folder.mjs',
};
const quickStart = { setupFiles: ['<rootDir>/test/live/quick-start.mjs'] };

// One configuration, the suites told apart by folder; `scripts/test.mjs` runs them in order.
const suite = (displayName, testMatch, extra = {}) => ({
  displayName,
  testMatch,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  // Sources first: `./stack.js` in an import means stack.ts even beside a stack.mjs.
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.stryker-tmp/'],
  testPathIgnorePatterns: ignored,
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  ...extra,
});

const source =
  '(api|core|packing|disruption|cloud|kube|cluster|workflows|activities|worker|operator|process|cli|devstack|bench|cases|checker|simulation|aws-conformance|scripts)';

export default {
  projects: [
    suite('unit', [`<rootDir>/${source}/**/*.test.ts`], { setupFiles: ['<rootDir>/test/no-cluster.mjs'] }),
    // Karpenter's own tests, told anew: docs/conformance.md.
    suite('conformance', ['<rootDir>/test/conformance/**/*.test.ts']),
    suite('property', ['<rootDir>/test/property/**/*.test.ts']),
    // In simulated time; and the same on Temporal's own server that skips time, where some can be told of nothing else.
    suite('workflow', ['<rootDir>/test/workflow/**/*.test.ts'], {
      ...sharedFolder,
      testPathIgnorePatterns: [
        ...ignored,
        '<rootDir>/test/workflow/(clock|encrypted-payloads|order-policy|renewed-connections|same-histories|traces).test.ts',
      ],
    }),
    suite('workflow-server', ['<rootDir>/test/workflow/**/*.test.ts'], {
      ...sharedFolder,
      globals: { temporalServer: true },
    }),
    suite('replay', ['<rootDir>/test/replay/**/*.test.ts']),
    suite('integration', ['<rootDir>/test/integration/**/*.test.ts'], {
      globalSetup: '<rootDir>/test/integration/global-setup.mjs',
      globalTeardown: '<rootDir>/test/integration/global-teardown.mjs',
    }),
    // Stowage as a process, each file with a stack of its own.
    suite('live', ['<rootDir>/test/live/**/*.test.ts', '<rootDir>/test/containment/**/*.test.ts'], quickStart),
    // On one stack: what people are asked, order and are told.
    suite('situations', ['<rootDir>/test/situations/**/*.test.ts'], quickStart),
    // Needs root and containers: `npm run test:install` gets what is missing, and no part of npm test.
    suite('install', ['<rootDir>/test/install/**/*.test.ts']),
    // Not part of npm test yet: it finds what is still to be mended.
    suite('hostile', ['<rootDir>/test/hostile/**/*.test.ts']),
  ],
};
