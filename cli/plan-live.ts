import type { Command } from 'commander';
import { Option } from 'commander';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { managedPools, unlaunchedClaims } from '../cluster/cluster.js';
import { learnCapacity } from '../cluster/learn-capacity.js';
import { packingInput } from '../cluster/packing-input.js';
import type { PackingDeps } from '../cluster/packing-input.js';
import type { CloudProvider } from '../cloud/port.js';
import { createClusterCache } from '../kube/cache.js';
import { createKubeClient } from '../kube/client.js';
import type { ClusterCache, Kind, KubeClient } from '../kube/port.js';
import { bufferKinds, optionalKinds, snapshotKinds } from '../kube/snapshot.js';
import type { PackingInput } from '../packing/types.js';
import { createCloud } from '../process/cloud.js';
import { unavailableOfferings } from '../worker/offering-store.js';
import { packingSettings } from '../process/packing-settings.js';
import { withRegion } from '../process/region.js';
import { nominationMsOf, SettingsError, type Settings } from '../process/settings.js';
import { frontierOption, planForms, withOption, withoutOption } from './command-texts.js';
import { UsageError } from './exit.js';
import { type ForecastOptions, printForecast } from './forecast.js';
import { liveSettings, withClient } from './live.js';
import { pageFile } from './page/page-file.js';
import { planSnapshot } from './page/planned.js';
import { printFrontier, printPlan } from './plan.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { messageOf } from '../core/error-message.js';
import { DomainError } from '../core/failures.js';
import { warn } from './output/print.js';

/** Settings that affect planning, and connections. */
const planningSettings =
  /^(CLUSTER_NAME|CLOUD_PROVIDER|INSTANCE_TYPES_FILE_PATH|KUBECONFIG|AWS_\w+|PRICE_FILE|COMMITMENTS_FILE|SCHEDULER_CONFIG|ISOLATED_VPC|VM_MEMORY_\w+|RESERVED_ENIS|ENABLE_ZONAL_SHIFT|(PREFERENCE|MIN_VALUES)_POLICY|FEATURE_GATES|TEMPORAL_\w+)$/;

const readMs = 60_000;

/** Its options; its help is that of a plan for files, in cli/program.ts. */
export function planLiveCommand(): Command {
  return settingsCommand('plan', { only: planningSettings })
    .addOption(new Option('-o, --output <form>', 'how to print').choices(planForms).default('table'))
    .option(...frontierOption)
    .option(...withOption)
    .option(...withoutOption);
}

/** `stowage plan` on a live cluster: what would be launched now, as text to print. Caveats go to stderr. */
export async function planLive(args: readonly string[]): Promise<string> {
  const command = planLiveCommand();
  command.parse(args, { from: 'user' });
  const flags = givenFlags(command);
  const output = flags['output'] as ForecastOptions['output'];
  delete flags['output'];
  const frontier = command.getOptionValue('frontier') === true;
  const asked = { ...command.opts<Pick<ForecastOptions, 'with' | 'without'>>(), output };
  const isForecast = asked.with !== undefined || asked.without !== undefined;
  if (isForecast && frontier) throw new UsageError('--with and --without do not go with --frontier');
  if (output === 'markdown' && !isForecast)
    throw new UsageError('-o markdown shows a forecast: it goes with --with or --without');
  if (output === 'html' && frontier) throw new UsageError('-o html shows one plan: it does not go with --frontier');
  const settings = await withRegion(liveSettings(flags));
  const log = pino({ level: 'warn', base: undefined }, pino.destination({ dest: 2, sync: true }));
  const kube = createKubeClient({
    userAgent: 'stowage-plan',
    ...(settings.KUBECONFIG !== undefined && { kubeconfig: settings.KUBECONFIG }),
  });
  const ending = new AbortController();
  try {
    const cloud = cloudOf(settings, kube, log);
    const cache = await readCluster({ kube, cloud, settings }, ending.signal);
    const notes = await withoutRefused(settings, cloud);
    const deps = {
      cache,
      cloud,
      gates: settings.FEATURE_GATES,
      log,
      now: () => Date.now(),
      nominationMs: nominationMsOf(settings),
    };
    const packing = { ...packingSettings(settings, cloud), explainTypes: output === 'json' };
    const { kind } = cloud.nodeClassKind;
    const nodeClasses = cache.all(kind as 'EC2NodeClass').map((each) => ({ ...each, kind }));
    const spotToSpot = settings.FEATURE_GATES.SpotToSpotConsolidation;
    const printed = async (input: PackingInput): Promise<string> => {
      if (isForecast) return printForecast({ input, nodeClasses, spotToSpot }, asked);
      if (output === 'html') return pageFile(planSnapshot(input));
      const form = output === 'json' ? output : 'table';
      return frontier ? printFrontier(input, form) : printPlan(input, form);
    };
    const found = await planNow({ ...deps, packing }, printed);
    for (const note of [...notes, ...found.notes]) warn(`stowage: ${note}\n`);
    return await found.result;
  } finally {
    ending.abort();
    kube.close();
  }
}

/** The result of `use` for the cached cluster, such as a plan, and its caveats. */
export async function planNow<T>(
  deps: PackingDeps,
  use: (input: PackingInput) => T,
): Promise<{ result: T; notes: readonly string[] }> {
  learnCapacity(deps);
  const pools = managedPools(deps);
  const input = await packingInput(deps, pools);
  const result = use(input);
  const { group, kind } = deps.cloud.nodeClassKind;
  const notes: string[] = [];
  if (pools.length === 0) notes.push(`the cluster has no NodePool whose nodeClassRef is a ${kind} of ${group}`);
  for (const { metadata } of pools) {
    const name = metadata.name ?? '';
    if ((input.catalogues.get(name)?.length ?? 0) === 0) notes.push(`NodePool ${name} has no instance types`);
  }
  for (const { metadata } of unlaunchedClaims(deps)) {
    notes.push(
      `NodeClaim ${metadata.name ?? ''} has no instance yet: it counts as a node with room for what it requests`,
    );
  }
  return { result, notes };
}

export function cloudOf(settings: Settings, kube: KubeClient, log: Logger): CloudProvider {
  try {
    return createCloud(settings, kube, log);
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message);
    throw error;
  }
}

/** The cluster in a cache that has listed everything. Throws `Unavailable` if it cannot be read. */
export async function readCluster(
  {
    kube,
    cloud,
    settings,
    more = [],
  }: { kube: KubeClient & { readonly server?: string }; cloud: CloudProvider; settings: Settings; more?: Kind[] },
  ending: AbortSignal,
): Promise<ClusterCache> {
  // Fails at once if the server is unavailable or refuses; the cache would keep trying.
  await kube.list('NodePool');
  let problem = '';
  const cache = createClusterCache({
    client: kube,
    kinds: [
      ...snapshotKinds,
      ...(settings.FEATURE_GATES.CapacityBuffer ? bufferKinds : []),
      cloud.nodeClassKind.kind as Kind,
      ...more,
    ],
    optional: optionalKinds,
    onConnectivity: ({ error }) => (problem = error === undefined ? '' : `: ${error.message}`),
    onProblem: (kind, error) => (problem = `: ${kind}: ${error.message}`),
  });
  const patience = AbortSignal.timeout(readMs);
  const signal = AbortSignal.any([ending, patience]);
  try {
    await cache.start(signal);
  } catch (error) {
    if (!patience.aborted) throw error;
    const missing = cache.unsynced.join(', ');
    throw new DomainError(
      'Unavailable',
      `the cluster at ${kube.server ?? 'KUBECONFIG'} cannot be read within ${readMs / 1000} s (${missing})${problem}`,
    );
  }
  return cache;
}

/** Excludes offerings that refused launches recently. Returns a note if that is unknown. */
async function withoutRefused(settings: Settings, cloud: CloudProvider): Promise<readonly string[]> {
  try {
    const refusals = await withClient(settings, (client) => unavailableOfferings(client, settings.CLUSTER_NAME));
    cloud.markUnavailable(refusals.filter(({ until }) => until > Date.now()));
    return [];
  } catch (error) {
    const why = messageOf(error);
    return [`every offering counts as available, because recent capacity failures are not known (${why})`];
  }
}
