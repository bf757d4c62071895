// Mutation testing of the rules that every plan rests on; `npm run mutation` runs it file by file.
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.mjs', related: false },
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
    '!disruption',
    '!cases',
    '!checker',
    '!cluster',
    '!test',
    'test/*',
    '!test/builders',
    '!test/mutation',
    '!*.json',
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
