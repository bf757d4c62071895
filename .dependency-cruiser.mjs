// The import table of docs/architecture.md. Each rule says what to do instead.
const folders =
  'api|core|packing|disruption|cloud|kube|workflows|activities|worker|operator|cli|ui|devstack|bench|test';
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
const npm = (...names) => names.map((name) => `node_modules/${name}/`).join('|');

export default {
  forbidden: [
    {
      name: 'one-entry',
      severity: 'error',
      comment: 'Consolidation tries things through packing/trial.ts alone.',
      from: { path: '^disruption/consolidation/', pathNot: '\\.test\\.ts$' },
      to: { path: '^packing/', pathNot: '^packing/((trial|types|names)\\.ts|requirements/)' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Break the cycle: move the shared part down.',
      from: {},
      to: { circular: true },
    },
    ...only('api', '^api/', `api/|${npm('zod')}`, 'api holds schemas alone: move logic to core.'),
    ...only('core', '^core/', 'core/', 'core is clock-free and free of I/O.', 'api/'),
    ...only('packing', '^packing/', 'packing/|core/|api/', 'packing is pure: pass data in.'),
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
      `cloud/aws/|cloud/port\\.ts|core/|api/|${npm('@aws-sdk', '@smithy', 'yaml', 'smol-toml')}|crypto|node:|zlib|fs|path|url`,
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
    ...only('kube', '^kube/(?!port|client)', 'kube/|core/|api/', 'kube meets the rest at kube/port.ts.'),
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
      `activities/|core/|packing/|disruption/|api/|workflows/messages\\.ts|${npm('@temporalio/(activity|common)')}|crypto|worker_threads|url|path|node:`,
      'Activities take what they need as dependencies.',
      'cloud/port\\.ts|kube/',
    ),
    {
      name: 'operator-decides-nothing',
      severity: 'error',
      comment: 'The operator takes messages and types from workflows, nothing else.',
      from: { path: '^operator/', pathNot: test },
      to: { path: '^workflows/(?!messages\\.ts)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'product-without-devstack',
      severity: 'error',
      comment: 'The product knows nothing of its test bed.',
      from: {
        path: '^(api|core|packing|disruption|cloud|kube|workflows|activities|worker|operator|ui|cli)/',
        pathNot: test,
      },
      to: { path: '^(devstack|test|bench)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'dist/|testdata/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
