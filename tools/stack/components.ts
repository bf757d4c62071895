import type { ProcessRecord } from './processes.js';
import type { Toolchain, ToolchainComponent } from './toolchain.js';

/** The parts that a stack can be made of; each is one or more processes. */
export const stackParts = ['apiserver', 'controllers', 'temporal', 'cloud', 'joiner', 'stowage'] as const;
export type StackPart = (typeof stackParts)[number];

/** A part brings those that it cannot do without. */
const brings: Readonly<Record<StackPart, readonly StackPart[]>> = {
  apiserver: [],
  controllers: ['apiserver'],
  temporal: [],
  cloud: [],
  joiner: ['apiserver', 'controllers', 'cloud'],
  stowage: ['apiserver', 'controllers', 'temporal', 'cloud', 'joiner'],
};

/** Everything that Stowage works on, without Stowage. */
export const surroundings: readonly StackPart[] = stackParts.filter((part) => part !== 'stowage');

/**
 * What Temporal runs on in a stack: its development server, which has one history shard and a SQLite file, or its server of production on
 * PostgreSQL.
 */
export const engines = ['development', 'postgres'] as const;
export type Engine = (typeof engines)[number];

export const portNames = [
  'etcd',
  'etcdPeer',
  'apiserver',
  'scheduler',
  'controllerManager',
  'kwok',
  'temporal',
  'temporalUi',
  'temporalMetrics',
  'temporalHistory',
  'temporalMatching',
  'temporalWorker',
  'temporalMembership',
  'temporalHistoryMembership',
  'temporalMatchingMembership',
  'temporalWorkerMembership',
  'postgresql',
  'moto',
  'proxy',
  'stowageHealth',
  'stowageMetrics',
  'stowagePage',
] as const;
export type Ports = Record<(typeof portNames)[number], number>;

/** A moto that stacks share, and the account in it that is one stack's own. */
export interface SharedMoto {
  readonly endpoint: string;
  /** Twelve digits, used by no other stack. */
  readonly account: string;
}

/** What every component's command line is made from. */
export interface StackContext {
  name: string;
  /** Holds logs/, data/, kubeconfigs and stack.json. */
  folder: string;
  cluster: string;
  region: string;
  ports: Ports;
  tools: Partial<Toolchain>;
  /** Pods run in containers, and get tokens of their ServiceAccounts; what is installed in the cluster brings its own manifests. */
  containers?: boolean;
  /** The cloud is reached at AWS' own endpoints, by an HTTP proxy. */
  proxy?: boolean;
  /** Dynamic settings of Temporal besides ours, such as a lower limit. */
  temporalSettings?: Readonly<Record<string, number>>;
  /** Families of instance types that the region has; all when absent. */
  instanceFamilies?: readonly string[];
  /** What Temporal runs on; its development server when absent. */
  engine?: Engine;
  /** One that is there already; when absent the stack starts one. */
  moto?: SharedMoto;
}

/** One process of the stack. */
export interface Component {
  name: string;
  part: StackPart;
  /** For people: where it listens. */
  address: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Whether it serves. May throw, which means no. */
  ready: () => Promise<boolean>;
  /** How long it may take to stop on SIGTERM before it is killed, in milliseconds. */
  graceMs: number;
}

/** What stack.json holds of a started component. */
export interface StartedComponent extends ProcessRecord {
  name: string;
  part: StackPart;
  address: string;
  log: string;
}

/** The parts with all that they bring, in starting order. */
export function withDependencies(parts: readonly StackPart[]): StackPart[] {
  const all = new Set(parts.flatMap((part) => [part, ...brings[part]]));
  return stackParts.filter((part) => all.has(part));
}

export function toolchainFor(parts: readonly StackPart[], engine: Engine = 'development'): ToolchainComponent[] {
  const needed = new Set<ToolchainComponent>();
  if (parts.includes('apiserver')) needed.add('kubernetes');
  if (parts.includes('temporal')) needed.add(engine === 'postgres' ? 'temporal-server' : 'temporal');
  if (parts.includes('cloud')) needed.add('moto');
  return [...needed];
}

/** A program's path, which `toolchainFor` has made sure of. */
export function tool(context: StackContext, name: keyof Toolchain): string {
  const path = context.tools[name];
  if (path === undefined) throw new Error(`${name} is not installed.`);
  return path;
}
