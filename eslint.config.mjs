import tseslint from 'typescript-eslint';
import ownLookups from './tools/lint/own-lookups.mjs';
import ownOutcomes from './tools/lint/own-outcomes.mjs';
import possibleMatchers from './tools/lint/possible-matchers.mjs';

const product = [
  'api',
  'core',
  'packing',
  'disruption',
  'cloud',
  'kube',
  'workflows',
  'activities',
  'operator',
  'worker',
  'cluster',
  'process',
  'cli',
].map((folder) => `${folder}/**/*.ts`);
const pureFolders = [
  'core/**/*.ts',
  'packing/**/*.ts',
  'cli/bound/**/*.ts',
  'disruption/**/*.ts',
  'workflows/**/*.ts',
  'api/**/*.ts',
];
const nonDeterministic = [
  ['process', 'Pure code takes its settings as arguments.'],
  ['console', 'Pure code returns what it has to say.'],
  ['fetch', 'I/O belongs in an adapter or an activity.'],
  ['performance', 'Pure code takes `now` as an argument.'],
  ['setTimeout', 'Pure code does not wait.'],
  ['setInterval', 'Pure code does not wait.'],
].map(([name, message]) => ({ name, message }));

const stowage = {
  rules: { 'own-lookups': ownLookups, 'own-outcomes': ownOutcomes, 'possible-matchers': possibleMatchers },
};

/** One way to say what a failure says. */
const ownMessages = {
  selector: [
    "ConditionalExpression[test.operator='instanceof'][test.right.name='Error'][consequent.property.name='message'][alternate.callee.name='String']",
    // A log has the message as its field `error`, without the name of a class, and with what a server said.
    "Property[key.name='error'] > CallExpression[callee.name='String']",
  ].join(', '),
  message: 'Use messageOf of core/error-message.ts.',
};

/** Kinds of one name are in several API groups. */
const ownKinds = {
  selector: ['callee.object', 'callee.object.left']
    .map(
      (path) =>
        `CallExpression[${path}.property.name='ownerReferences'] > ArrowFunctionExpression:has(:matches(Property[key.name='kind'], MemberExpression[property.name='kind'])):not(:has([name='apiVersion']))`,
    )
    .join(', '),
  message: 'Use ownerOf or isOwnedBy: kinds of owners are compared with their group.',
};

/** What others wrote is shown, never obeyed. */
const ownOutput = {
  selector:
    "MemberExpression[object.property.name=/^(stdout|stderr)$/][property.name='write'], MemberExpression[object.name='console']",
  message: 'Print by cli/output/print.ts.',
};

/** One request harms no other. */
const ownServer = 'Serve by requestServer of process/http.ts.';

/** Limits of time are for what waits for ever (test/jest/setup.mjs). A shorter one of a test fails on a crowded machine. */
const ownTimeout = {
  selector: ['callee.name', 'callee.object.name', 'callee.callee.object.name', 'callee.tag.object.name']
    .map(
      (path) =>
        `CallExpression[${path}=/^(test|it|beforeAll|beforeEach|afterAll|afterEach)$/] > Literal[raw=/^[0-9_]+$/]`,
    )
    .join(', '),
  message: 'A test and a hook have the time that test/jest/setup.mjs gives.',
};

export default tseslint.config(
  { ignores: ['dist/', 'dist.*/', 'node_modules/', 'coverage/', '.stryker-tmp/', '**/testdata/**'] },
  ...tseslint.configs.strictTypeChecked.map((config) => ({ ...config, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      complexity: ['error', 15],
      'max-depth': ['error', 4],
      'max-params': ['error', 5],
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/prefer-for-of': 'off',
    },
  },
  {
    // Keys that users write must not find what every object inherits.
    files: product,
    ignores: ['**/*.test.ts', 'core/own.ts'],
    plugins: { stowage },
    rules: { 'stowage/own-lookups': 'error' },
  },
  {
    // One bad request harms no other (invariants/failures-are-contained). What else throws in a callback is contained in process/faults.ts.
    files: product,
    ignores: ['**/*.test.ts', 'process/http.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        ...['node:http', 'node:https'].map((name) => ({ name, importNames: ['createServer'], message: ownServer })),
      ],
      'no-restricted-properties': ['error', { property: 'createServer', message: ownServer }],
    },
  },
  {
    // One bad object harms no other (invariants/failures-are-contained).
    files: ['activities', 'cluster', 'operator', 'workflows'].map((folder) => `${folder}/**/*.ts`),
    ignores: ['**/*.test.ts'],
    plugins: { stowage },
    rules: { 'stowage/own-outcomes': 'error' },
  },
  {
    files: ['**/*.ts'],
    ignores: ['core/error-message.ts'],
    rules: { 'no-restricted-syntax': ['error', ownMessages, ownKinds] },
  },
  {
    // A plan may leave pods for its next pass, which `provision` alone has. Who asks about pods has an answer for each of them.
    files: ['activities/**/*.ts'],
    ignores: [
      '**/*.test.ts',
      'activities/placement.ts',
      'activities/provisioning/planning.ts',
      'activities/people/explanations.ts',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        ownMessages,
        ownKinds,
        {
          selector: "CallExpression[callee.property.name='plan'][callee.object.property.name='packer']",
          message: 'Use placementOf of activities/placement.ts: its answer distinguishes the pods that a plan defers.',
        },
        {
          selector: "CallExpression[callee.property.name='plan'][callee.object.name='packer']",
          message: 'Use placementOf of activities/placement.ts: its answer distinguishes the pods that a plan defers.',
        },
      ],
    },
  },
  {
    files: ['cli/**/*.ts'],
    ignores: ['**/*.test.ts', 'cli/output/print.ts'],
    rules: { 'no-restricted-syntax': ['error', ownMessages, ownKinds, ownOutput] },
  },
  {
    files: pureFolders,
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-globals': ['error', ...nonDeterministic],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Take a seeded rng as an argument.' },
        { object: 'Date', property: 'now', message: 'Take `now` as an argument.' },
      ],
    },
  },
  {
    // A test says something only where its answer may change.
    files: ['**/*.test.ts', 'test/**/*.ts'],
    plugins: { stowage },
    rules: { 'stowage/possible-matchers': 'error', 'no-restricted-syntax': ['error', ownMessages, ownTimeout] },
  },
  {
    // A workflow may sleep: the SDK replaces timers by durable ones.
    files: ['**/*.test.ts', 'test/**/*.ts', 'tools/bench/**/*.ts'],
    rules: {
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
);
