// The import table of docs/architecture.md. Each rule says what to do instead.
const folders =
  'api|core|packing|disruption|cloud|kube|cluster|workflows|activities|worker|operator|process|cli|tools|test';
const test = '\\.test\\.ts$';

/** A folder's code may import only what matches `allowed`; type-only edges may also reach `types`. */
const only = (name, from, allowed, comment, types) => {
  const rule = (suffix, to) => ({
    name: `${name}${suffix}`,
    severity: 'error',
    comment,
    from: { path: from, pathNot: test },
    to,
  });
  const permitted = `^(${allowed})`;
  if (types === undefined) return [rule('', { pathNot: permitted })];
  return [
    rule('', { pathNot: permitted, dependencyTypesNot: ['type-only'] }),
    rule('-types', { pathNot: `^(${allowed}|${types})` }),
  ];
};
/** No file in `from`, its tests aside, may import what matches `to`. */
const never = (name, from, to, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: test },
  to: typeof to === 'string' ? { path: to } : to,
});
/** Packing is a pipeline that is walked one way: a stage imports those before it. */
const stages = ['requirements', 'compile', 'topology', 'place', 'refine', 'output', 'trial'];
const whole = 'packing/(solve/|(plan|trial|exclude-objects)\\.ts$)';
const pipeline = [
  ...stages.map((stage, at) =>
    never(
      `packing-${stage}-looks-back-alone`,
      `^packing/${stage}/`,
      `^(packing/(${[...stages.slice(at + 1), 'scenarios'].join('|')})/|${whole})`,
      `The stages are ${stages.join(', ')}: move what an earlier one needs down.`,
    ),
  ),
  never(
    'packing-bins-knows-no-pods',
    '^packing/bins/',
    `^(packing/(${stages.join('|')})/|${whole})`,
    'The bin packing problem is one of numbers: place/ and refine/ translate.',
  ),
  never(
    'packing-model-knows-no-stage',
    '^packing/(types|lists|sort-few|xorshift)\\.ts$',
    '^packing/[a-z-]+/',
    'The model is what every stage shares.',
  ),
];
/** Folders that every subject of a layer may import. */
const shared = { disruption: [], workflows: ['calls', 'entity'], activities: [] };
/** Which other subjects a subject of a layer may import: a new arrow is a decision. */
const subjects = {
  disruption: {
    candidates: [],
    policies: [],
    budgets: ['candidates', 'policies'],
    consolidation: ['budgets', 'candidates', 'policies'],
    drift: ['budgets'],
    expiration: ['policies'],
    repair: [],
    'static-capacity': ['candidates'],
  },
  workflows: {
    provisioning: ['launch', 'people'],
    launch: [],
    disruption: ['consolidation', 'people'],
    consolidation: ['people', 'replacement'],
    replacement: ['launch', 'people', 'termination'],
    drift: ['people', 'replacement'],
    expiration: ['people', 'replacement'],
    interruption: ['replacement'],
    repair: ['people', 'replacement'],
    termination: ['people'],
    'static-capacity': ['launch', 'people', 'termination'],
    people: [],
  },
  activities: {
    'disruption-context': ['provisioning'],
    provisioning: ['people'],
    launch: ['provisioning'],
    disruption: ['disruption-context', 'consolidation', 'drift', 'people', 'provisioning', 'termination'],
    consolidation: ['disruption-context'],
    drift: ['disruption-context', 'provisioning'],
    expiration: ['provisioning', 'static-capacity'],
    interruption: ['disruption'],
    repair: [],
    termination: ['disruption-context', 'people'],
    'static-capacity': ['provisioning'],
    people: ['disruption-context', 'consolidation', 'provisioning'],
  },
};
const betweenSubjects = Object.entries(subjects).flatMap(([layer, own]) =>
  Object.entries(own).map(([subject, others]) =>
    never(
      `${layer}-${subject}-meets-no-other`,
      `^${layer}/${subject}/`,
      {
        path: `^${layer}/[^/]+/`,
        pathNot: `^${layer}/((${[subject, ...shared[layer], ...others].join('|')})/|[a-z-]+/contract\\.ts$)`,
      },
      `What two subjects need is in ${layer}/, cluster/, core/ or disruption/; see subjects in .dependency-cruiser.mjs.`,
    ),
  ),
);

/** Any module of Node's own. */
const builtin = '(node:)?[a-z_0-9/]+$';
const npm = (...names) => names.map((name) => `node_modules/${name}/`).join('|');

export default {
  forbidden: [
    {
      name: 'one-entry',
      severity: 'error',
      comment: 'Consolidation tries things through packing/trial.ts alone.',
      from: { path: '^disruption/consolidation/', pathNot: '\\.test\\.ts$' },
      to: { path: '^packing/', pathNot: '^packing/((trial|types|exclude-objects)\\.ts|requirements/)' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Break the cycle: move the shared part down.',
      from: {},
      to: { circular: true },
    },
    ...only(
      'api',
      '^api/',
      `api/|core/(own|int64)\\.ts|${npm('zod')}`,
      'api holds schemas alone: move logic to core. Only the safe look-up by foreign keys and the reading of integers are shared.',
    ),
    ...only(
      'core',
      '^core/',
      'core/|api/labels\\.ts$',
      'core is clock-free and free of I/O; of schemas it knows types alone.',
      'api/',
    ),
    ...only('packing', '^packing/', 'packing/|core/|api/', 'packing is pure: pass data in.'),
    ...pipeline,
    ...only('bound', '^cli/bound/', 'cli/bound/|packing/|core/|api/', 'A bound is pure: pass data in.'),
    ...only(
      'forecast',
      '^cli/forecast/',
      `cli/forecast/|cli/objects/at-rest\\.ts|cli/output/table\\.ts|cluster/drift-order\\.ts|cloud/aws/(drift|node-class)\\.ts|disruption/|packing/|core/|api/|${npm('zod')}`,
      'A forecast is pure, and asks what decides live: pass data in.',
      'cloud/port\\.ts',
    ),
    ...only(
      'disruption',
      '^disruption/',
      `disruption/|packing/|core/|api/|${npm('croner')}`,
      'disruption is pure: pass data in.',
    ),
    ...only('cloud-port', '^cloud/port\\.ts$', 'core/', 'The port knows no provider.', 'api/|packing/'),
    ...only('kube-port', '^kube/port\\.ts$', 'core/', 'The port knows no client.', 'api/'),
    ...only(
      'cloud-aws',
      '^cloud/aws/',
      `cloud/aws/|cloud/port\\.ts|core/|api/|${npm('@aws-sdk', '@smithy', 'yaml', 'smol-toml')}|crypto|node:|zlib|fs|path|url|https?$|net$|tls$|stream$`,
      'cloud/aws meets the rest at cloud/port.ts.',
      'packing/',
    ),
    ...only(
      'cloud-kwok',
      '^cloud/kwok/',
      'cloud/kwok/|cloud/port\\.ts|kube/port\\.ts|core/|api/|crypto|fs|path',
      'cloud/kwok meets the rest at the ports.',
      'packing/',
    ),
    {
      name: 'client-node-in-one-file',
      severity: 'error',
      comment: 'Only kube/client.ts may import the Kubernetes client: add what you need there.',
      from: { path: `^(${folders})/`, pathNot: `^kube/client\\.ts$|${test}` },
      to: { path: 'node_modules/@kubernetes/client-node/' },
    },
    ...only(
      'kube',
      '^kube/(?!port|client)',
      'kube/|core/|api/|(node:)?events$',
      'kube meets the rest at kube/port.ts.',
    ),
    ...only(
      'kube-client',
      '^kube/client',
      `kube/|core/|api/|${npm('@kubernetes/client-node')}|${builtin}`,
      'Only kube/client.ts calls the API server: import kube/port.ts.',
    ),
    ...only(
      'cluster',
      '^cluster/',
      'cluster/|core/|disruption/|packing/compile/|api/',
      'The observed cluster is read through the ports.',
      'cloud/port\\.ts|kube/port\\.ts|packing/|workflows/messages\\.ts',
    ),
    ...only(
      'workflows',
      '^workflows/',
      `workflows/|core/|disruption/|${npm('@temporalio/(workflow|common)')}`,
      'Workflow code is deterministic: reach the world through activities.',
      'activities/|api/|packing/',
    ),
    ...only(
      'activities',
      '^activities/',
      `activities/|cluster/|core/|packing/|disruption/|api/|workflows/messages\\.ts|${npm('@temporalio/(activity|common)')}|crypto|timers|worker_threads|url|path|node:`,
      'Activities take what they need as dependencies.',
      'cloud/port\\.ts|kube/',
    ),
    ...only(
      'operator',
      '^operator/',
      `operator/|cluster/|core/|disruption/|packing/compile/|packing/output/pool-types\\.ts|api/|kube/|workflows/messages\\.ts|${npm('@temporalio/(client|common|proto)', '@opentelemetry/api')}|crypto|timers|node:`,
      'The operator decides nothing: it takes messages and types from workflows, and the cluster from cluster/.',
      'activities/|cloud/port\\.ts|packing/|workflows/',
    ),
    ...only(
      'worker',
      '^worker/',
      `worker/|activities/|core/|packing/|disruption/|api/|workflows/messages\\.ts|${npm('@temporalio/[a-z-]+')}|crypto|worker_threads|async_hooks|timers|vm|url|path|fs|os|v8|node:`,
      'The worker runs workflows and activities: what they are made of is wired in process/.',
      `cluster/|cloud/port\\.ts|kube/|${npm('pino')}`,
    ),
    never(
      'process-is-the-top',
      '^(api|core|packing|disruption|cloud|kube|cluster|workflows|activities|operator|worker)/',
      '^(process|cli)/',
      'Only the command line and tests import the composition.',
    ),
    never('cli-is-not-imported', '^process/', '^cli/', 'What others need too belongs in core, disruption or process.'),
    ...betweenSubjects,
    ...only(
      'process',
      '^process/',
      `process/|worker/|operator/|kube/|cloud/|cluster/|workflows/messages\\.ts|disruption/|packing/compile/|core/|api/|${npm('@temporalio/[a-z-]+', '@opentelemetry/[a-z-]+', 'pino', 'prom-client', 'zod')}|${builtin}`,
      'The composition wires what others made: what it would need of activities, workflows or packing belongs to them.',
      'activities/|packing/',
    ),
    ...only(
      'cli',
      '^cli/(?!page/browser/)',
      `cli/|process/|worker/offering-store\\.ts|operator/(desired-workflows\\.ts|change-events\\.ts|stuck/)|kube/|cloud/(kwok/|aws/(drift|node-class)\\.ts)|cluster/|workflows/(messages\\.ts|termination/)|disruption/|packing/|core/|api/|${npm('@temporalio/(client|common|proto)', '@modelcontextprotocol/sdk', 'commander', 'cli-table3', 'pino', 'yaml', 'zod')}|${builtin}`,
      'A command reads and asks: what acts is in activities and operator.',
      'activities/[a-z-]+/contract\\.ts|cloud/port\\.ts',
    ),
    ...only(
      'page',
      '^cli/page/browser/',
      `cli/page/browser/|core/text\\.ts|${npm('preact', '@preact/signals', 'd3-hierarchy', '@types/d3-hierarchy', 'uplot')}`,
      'The page runs in a browser: it knows the API alone.',
      'cli/page/snapshot\\.ts',
    ),
    ...only(
      'stack',
      '^tools/stack/',
      `tools/(stack/|root\\.mjs)|test/cases/|test/checker/audit/|cli/output/|kube/(client|cache)\\.ts|cluster/cluster\\.ts|workflows/messages\\.ts|core/|api/|${npm('@aws-sdk', '@temporalio/(client|common|proto)', 'cli-table3', 'commander', 'esbuild', 'yaml')}|${builtin}`,
      'The stack runs the product from outside.',
      'kube/port\\.ts',
    ),
    ...only(
      'simulation',
      '^test/simulation/',
      `test/simulation/|test/checker/selectors\\.ts|test/cases/|process/|worker/|activities/|workflows/(messages\\.ts|disruption/)|cluster/|cloud/kwok/|kube/|disruption/|packing/|core/|api/|${npm('@sinonjs/fake-timers', '@temporalio/[a-z]+', 'commander')}|${builtin}`,
      'The simulation runs the product by its entries, the operator as process/ composes it, and is part of no test bed. Its kube-scheduler reads selectors as the checker does, not as the product.',
      'cloud/port\\.ts|workflows/',
    ),
    ...only(
      'bench',
      '^tools/bench/',
      `tools/bench/|tools/stack/|test/simulation/|test/checker/|test/cases/|cli/plan\\.ts|process/|worker/|operator/|kube/|cloud/|workflows/messages\\.ts|packing/(plan\\.ts|bins/)|core/|api/|${npm('@aws-sdk', '@temporalio/(client|worker)', 'cli-table3', 'commander')}|${builtin}`,
      'A measurement runs the product by its entries.',
      'packing/|cloud/port\\.ts',
    ),
    ...only(
      'conformance-of-an-account',
      '^tools/aws-conformance/',
      `tools/aws-conformance/|tools/stack/cloud-proxy/(called|recording)\\.ts|cloud/aws/(options|provider)\\.ts|kube/client\\.ts|core/|api/|${npm('@aws-sdk', 'cli-table3', 'commander')}|${builtin}`,
      'The suite meets an account by the provider, as the product does.',
      'cloud/|kube/port\\.ts',
    ),
    ...only(
      'checker',
      '^test/checker/',
      'test/checker/|core/|api/labels\\.ts|node:',
      'The judge shares nothing with packing or disruption but quantities, names and the shapes of objects.',
      'api/',
    ),
    ...only(
      'cases',
      '^test/cases/',
      'test/cases/|core/|api/|crypto|node:|fs|path',
      'Cases know no engine.',
      'api/|test/checker/types\\.ts|kube/port\\.ts',
    ),
    never(
      'product-alone',
      '^(api|core|packing|disruption|cloud|kube|cluster|workflows|activities|worker|operator|process|cli)/',
      '^(tools|test)/',
      'The product knows nothing of tools and tests.',
    ),
    never(
      'parts-of-tests-apart',
      '^(tools/(stack|bench|aws-conformance)|test/(checker|cases|simulation))/',
      '^test/(?!checker/|cases/|simulation/)',
      'Tools and simulation share test/cases, test/checker and test/simulation; nothing else of test/.',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'dist/|testdata/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
