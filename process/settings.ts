import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { messageOf } from '../core/error-message.js';
import { cutText, longestMessage, quoted } from '../core/text.js';
import { parseDuration } from '../core/durations.js';
import { parseFeatureGates } from '../core/feature-gates.js';
import { orderPolicies } from '../core/orders.js';
import { lookUp } from '../core/own.js';
import type { NamespacedName } from '../core/refs.js';

const flagThat = (text: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(text)
    .transform((value) => value === 'true');
const flag = flagThat('false');
const port = z.coerce.number().int().min(0).max(65_535);
const duration = (text: string): z.ZodType<number> =>
  z
    .string()
    .default(text)
    .transform((value, context) => {
      try {
        return parseDuration(value);
      } catch {
        context.addIssue({ code: 'custom', message: 'is not a duration (such as 1s or 10m)' });
        return z.NEVER;
      }
    })
    // Shown as 10s, not 10000.
    .meta({ shown: text });

const gates = z
  .string()
  .default('')
  .transform((text, context) => {
    const { gates: known, unknown, broken } = parseFeatureGates(text);
    for (const pair of broken) {
      context.addIssue({
        code: 'custom',
        message: `${quoted(pair)} is not a feature gate (such as SpotToSpotConsolidation=true)`,
      });
    }
    return { ...known, unknown };
  });

/** All settings by environment variable; the flag is the same in kebab case (settings/names). */
const fields = {
  // A slash would end the first part of a workflow id; EC2 tags, which include the name, are limited to 128 characters.
  CLUSTER_NAME: z
    .string()
    .regex(
      /^[0-9A-Za-z][0-9A-Za-z._-]{0,99}$/,
      'is not 1 to 100 letters, digits and . _ -, of which the first is a letter or a digit',
    )
    .describe('name of the cluster; it prefixes workflow ids and tags instances'),
  CLUSTER_TAKES_OVER_FROM: z
    .string()
    .optional()
    .describe('UID of kube-system of a former cluster with the same CLUSTER_NAME: this cluster takes the name over'),
  CLOUD_PROVIDER: z.enum(['aws', 'kwok']).default('aws').describe('which cloud launches nodes; kwok simulates them'),
  INSTANCE_TYPES_FILE_PATH: z
    .string()
    .optional()
    .describe("instance types that kwok simulates, in the format of Karpenter's KWOK provider"),
  CLUSTER_ENDPOINT: z.url().optional().describe('URL of the API server that nodes join; asked of EKS when absent'),
  CLUSTER_CA_BUNDLE: z.string().optional().describe('base64 of the certificates that nodes trust'),
  CLUSTER_SERVICE_CIDR: z.string().optional().describe('address range of services; asked of EKS when absent'),
  AWS_REGION: z
    .string()
    .regex(/^[\da-z-]+$/, 'is not a region (such as us-west-2)')
    .optional()
    .describe('region of the instances; the region of the instance that it runs on when absent'),
  HTTPS_PROXY: z.url().optional().describe('HTTP proxy for calls to AWS, as http://USER:PASSWORD@HOST:PORT'),
  NO_PROXY: z.string().default('').describe('hosts to call without the proxy, separated by commas'),
  AWS_CA_BUNDLE: z
    .string()
    .optional()
    .describe(
      "file with the PEM certificates of the authorities trusted for AWS' endpoints, instead of the usual ones",
    ),
  AWS_ENDPOINT_URL: z.url().optional().describe("replaces AWS' own endpoints"),
  PRICE_FILE: z
    .string()
    .optional()
    .describe('file that keeps the last known prices across restarts; read if there is no Pricing API'),
  COMMITMENTS_FILE: z
    .string()
    .optional()
    .describe('file with the Savings Plans and reserved instances that nodes run under'),
  ISOLATED_VPC: flag.describe('the Pricing API cannot be reached'),
  VM_MEMORY_OVERHEAD_PERCENT: z.coerce
    .number()
    .min(0)
    .default(0.075)
    .describe('share of memory that the hypervisor keeps'),
  RESERVED_ENIS: z.coerce.number().int().min(0).default(0).describe('network interfaces that are not for pods'),
  ENABLE_ZONAL_SHIFT: flag.describe(
    'do not launch in zones from which an ARC zonal shift has moved the EKS cluster away',
  ),
  DISABLE_DRY_RUN: flag.describe('do not test node classes by dry runs'),
  INTERRUPTION_QUEUE: z.string().default('').describe('name of the SQS queue with interruption notices'),
  BATCH_MAX_DURATION: duration('10s').describe('longest batch window'),
  BATCH_IDLE_DURATION: duration('1s').describe('a batch closes this long after its last new pod'),
  NOMINATE_PODS: flagThat('true').describe('nominate pods to the new nodes of the plan (status.nominatedNodeName)'),
  STEER_PODS: flagThat('true').describe(
    'while a consolidation drains nodes, taint other nodes softly (PreferNoSchedule), so that its pods go to their targets',
  ),
  PREFERENCE_POLICY: z.enum(['Respect', 'Ignore']).default('Respect').describe('whether preferences count'),
  MIN_VALUES_POLICY: z
    .enum(['Strict', 'BestEffort'])
    .default('Strict')
    .describe('what to do if minValues cannot be met'),
  SCHEDULER_CONFIG: z
    .string()
    .default('')
    .describe('file or text with the default topology spread of pods that have none, as in kube-scheduler'),
  AWS_FEATURE_GATES: z
    .string()
    .regex(/^(NodeClassCEL=(true|false))?$/, 'is not NodeClassCEL=true or NodeClassCEL=false')
    .default('')
    .describe('feature gates of AWS: NodeClassCEL=true allows expressions in kubelet settings of node classes'),
  FEATURE_GATES: gates.describe('feature gates as Name=true, separated by commas'),
  DISABLE_CLUSTER_STATE_OBSERVABILITY: flag.describe('leave out the metrics series of each node and pod'),
  METRICS_PORT: port.default(8080).describe('port of /metrics'),
  HEALTH_PROBE_PORT: port.default(8081).describe('port of /healthz and /readyz'),
  LISTEN_ADDRESS: z.string().default('').describe('address of these ports; all interfaces when empty'),
  PAGE_PORT: port.default(0).describe('port of the page, which shows the cluster and its cost; 0: no page'),
  TEMPORAL_UI_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('address of the Temporal UI, such as http://127.0.0.1:8233, for links on the page'),
  PROMETHEUS_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('address of a Prometheus that scrapes Stowage, for prices on the page before the operator leads'),
  PROMETHEUS_SELECTOR: z
    .string()
    .default('')
    .describe('label matchers of the series of this cluster there, such as cluster="prod"'),
  KUBECONFIG: z
    .string()
    .optional()
    .describe('kubeconfig, or in-cluster; when absent ~/.kube/config, then the credentials of a pod'),
  KUBE_CLIENT_QPS: z.coerce.number().min(0).default(200).describe('requests per second to the API server'),
  KUBE_CLIENT_BURST: z.coerce.number().int().min(1).default(300).describe('burst of requests to the API server'),
  DISABLE_LEADER_ELECTION: flag.describe('act without holding the lease'),
  LEADER_ELECTION_NAME: z.string().min(1).default('stowage-leader-election').describe("name of the operator's lease"),
  LEADER_ELECTION_NAMESPACE: z.string().min(1).default('stowage').describe("namespace of the operator's lease"),
  KARPENTER_LEADER_ELECTION_NAME: z
    .string()
    .min(1)
    .default('karpenter-leader-election')
    .describe("Karpenter's lease; Stowage does nothing while it is held"),
  KARPENTER_LEADER_ELECTION_NAMESPACE: z
    .string()
    .min(1)
    .default('kube-system')
    .describe('the only namespace in which that lease counts: the one in which Karpenter runs'),
  ORDER_POLICY: z
    .enum(orderPolicies)
    .default('AuthorisedForce')
    .describe(
      'which orders have to come through the stowage command, which asks Kubernetes: those with force (AuthorisedForce), all (Authorised), none (Any)',
    ),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('lowest level that is logged'),
  NOTIFY_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'webhook that receives questions, blocked drains, force, failures, pauses, launches and disruptions as CloudEvents',
    ),
  NOTIFY_SECRET_FILE: z.string().optional().describe('file with the secret that signs notifications (HMAC-SHA256)'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'collector that receives traces by OTLP over HTTP, such as http://otel-collector:4318; no traces when absent',
    ),
  TEMPORAL_ADDRESS: z.string().min(1).default('127.0.0.1:7233').describe('host and port of the Temporal frontend'),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default').describe('Temporal namespace'),
  TEMPORAL_CONFIG_FILE: z
    .string()
    .optional()
    .describe(
      "file with profiles for Temporal's SDKs and its CLI; temporalio/temporal.toml in the user's configuration when absent",
    ),
  TEMPORAL_PROFILE: z.string().optional().describe('profile of that file; the profile default when absent'),
  TEMPORAL_API_KEY: z
    .string()
    .optional()
    .describe('API key, for Temporal Cloud; has no flag, because others could read it'),
  TEMPORAL_API_KEY_FILE: z.string().optional().describe('file with the API key'),
  TEMPORAL_TLS: flag.describe('connect with TLS; an API key and every TEMPORAL_TLS_ setting imply it'),
  TEMPORAL_TLS_CA: z
    .string()
    .optional()
    .describe(
      "file with the PEM certificates of the authorities for the frontend's certificate; those of the system when absent",
    ),
  TEMPORAL_TLS_SERVER_NAME: z
    .string()
    .optional()
    .describe("name in the frontend's certificate, if it is not the address'"),
  TEMPORAL_TLS_CERT: z
    .string()
    .optional()
    .describe('file with the client certificate; all files of the connection are read again each minute'),
  TEMPORAL_TLS_KEY: z.string().optional().describe("file with the client certificate's key"),
  TEMPORAL_PAYLOAD_KEYS_FILE: z
    .string()
    .optional()
    .describe('file with the keys that encrypt payloads in Temporal; read again when it changes'),
  WORKER_BUILD_ID: z
    .string()
    .regex(/^[\w.+-]{1,128}$/, 'is not 1 to 128 letters, digits and . + - _')
    .optional()
    .describe('build of the workers, as Temporal knows it; version and digest of the workflow code when absent'),
  WORKER_VERSIONING: flag.describe('version the workers: all workflows move to the new build once its workers run'),
  PACKING_THREADS: z.coerce
    .number()
    .int()
    .min(0)
    .max(64)
    .default(1)
    .describe('number of packing threads; 0 packs without threads'),
  CLOUD_CALLS_PER_SECOND: z.coerce.number().min(0.1).default(20).describe('cloud activities started per second'),
} as const;

const schema = z.object(fields);

export type Settings = z.output<typeof schema>;
type SettingName = keyof typeof fields;

/** How long a node with nominated pods is not disrupted, milliseconds (provisioning/nominated-nodes). */
export function nominationMsOf({ BATCH_MAX_DURATION }: Pick<Settings, 'BATCH_MAX_DURATION'>): number {
  return Math.max(2 * BATCH_MAX_DURATION, 10_000);
}

/** Settings without a flag, since all users of a machine can read command lines. */
const secrets: ReadonlySet<string> = new Set<SettingName>(['TEMPORAL_API_KEY']);
/** Files with secrets: a user may give the secret instead of the file name by mistake. */
const secretFiles: ReadonlySet<string> = new Set<SettingName>([
  ...(['TEMPORAL_API_KEY_FILE', 'TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'] as const),
  ...(['TEMPORAL_CONFIG_FILE', 'TEMPORAL_PAYLOAD_KEYS_FILE', 'NOTIFY_SECRET_FILE'] as const),
]);

/** A URL may contain a password, or a token in its path. */
function isUrl(name: string): boolean {
  const field = lookUp<z.ZodType>(fields, name);
  return field instanceof z.ZodOptional && field.unwrap() instanceof z.ZodURL;
}

/**
 * The value of a setting for messages and logs. All code that quotes a setting must use it: of a secret it gives only
 * the length.
 */
function shownSetting(name: string, value: string): string {
  if (secretFiles.has(name)) return shownPath(value);
  return secrets.has(name) || isUrl(name) ? withheld(value) : quoted(value);
}

/** The path of a file with a secret, unless it may be the secret itself: without a slash, or with several lines. */
export function shownPath(path: string): string {
  return isPath(path) ? quoted(path) : withheld(path);
}

const isPath = (text: string): boolean => /^\S*\/\S*$/.test(text);
const withheld = (text: string): string => `(${text.length} characters, not shown because they may be a secret)`;

/** The content of the secret file that `what` names. Throws `SettingsError`. */
export function readSecretFile(what: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const said = isPath(path) ? messageOf(error) : (error as NodeJS.ErrnoException).code;
    throw new SettingsError(`${what} ${shownPath(path)}: ${said ?? 'it cannot be read'}`);
  }
}

/** Namespace and name of the operator's leader lease. */
export function leaderLease(
  settings: Pick<Settings, 'LEADER_ELECTION_NAMESPACE' | 'LEADER_ELECTION_NAME'>,
): NamespacedName {
  return { namespace: settings.LEADER_ELECTION_NAMESPACE, name: settings.LEADER_ELECTION_NAME };
}

/** Namespace and name of Karpenter's leader lease. */
export function karpenterLease(settings: Settings): NamespacedName {
  return { namespace: settings.KARPENTER_LEADER_ELECTION_NAMESPACE, name: settings.KARPENTER_LEADER_ELECTION_NAME };
}

/** Invalid settings; the message names all of them, and how each is given. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  constructor(message: string) {
    super(cutText(message, longestMessage));
  }
}

/** Proxy variables may be lower case. */
function inEnvironment(environment: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const value = lookUp(environment, name);
  return value === undefined && name.endsWith('_PROXY') ? lookUp(environment, name.toLowerCase()) : value;
}

/** Reads all settings. Flags (by their kebab-case names) override the environment. Throws `SettingsError`. */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string>> = {},
): Settings {
  const given: Record<string, string> = {};
  for (const name of Object.keys(fields)) {
    const value = lookUp(flags, flagOf(name)) ?? inEnvironment(environment, name);
    if (value !== undefined && value !== '') given[name] = value;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0]);
    const value = lookUp(given, name);
    return `${named(name)}${value === undefined ? ' is missing' : ` ${shownSetting(name, value)}: ${message}`}`;
  });
  throw new SettingsError(`invalid settings:\n  ${problems.join('\n  ')}`);
}

/** All settings with flag, default and description, for `--help` and the documentation; secrets have no flag. */
export function describeSettings(): readonly {
  readonly name: string;
  readonly flag: string | undefined;
  readonly default: string | undefined;
  readonly description: string;
}[] {
  return Object.entries(fields).map(([name, field]) => {
    return {
      name,
      flag: secrets.has(name) ? undefined : `--${flagOf(name)}`,
      default: defaultOf(field),
      description: field.description ?? '',
    };
  });
}

function defaultOf(field: z.ZodType): string | undefined {
  const shown = field.meta()?.['shown'];
  if (typeof shown === 'string') return shown;
  const { data } = field.safeParse(undefined);
  return typeof data === 'string' || typeof data === 'number' || typeof data === 'boolean' ? String(data) : undefined;
}

function named(name: string): string {
  return secrets.has(name) ? name : `${name} (--${flagOf(name)})`;
}

function flagOf(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}
