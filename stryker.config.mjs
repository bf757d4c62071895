// Mutation testing of the rules that every plan rests on; `npm run mutation` runs it file by file.
export default {
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  testRunnerNodeArgs: ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning'],
  jest: { configFile: 'test/mutation/jest.config.mjs', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  // Types are stripped before the tests run.
  disableTypeChecks: false,
  concurrency: 2,
  // What the tests need is copied and no more.
  ignorePatterns: [
    '/*',
    '!api',
    '!core',
    '!packing',
    '!test',
    'test/*',
    '!test/builders',
    '!test/mutation',
    '!*.json',
    '!jest.config.mjs',
    '!stryker.config.mjs',
  ],
  reporters: ['clear-text', 'json'],
  clearTextReporter: {
    allowColor: false,
    allowEmojis: false,
    logTests: false,
    reportTests: false,
    reportScoreTable: false,
  },
  jsonReporter: { fileName: 'reports/mutation/mutation.json' },
};
