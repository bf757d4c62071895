import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { settleAll } from '../../core/at-once.js';
import { applyManifests } from './apply.js';
import { cloudComponents, egressFolder, motoEndpoint, seedCloud } from './cloud.js';
import { authorityFile } from './cloud-proxy/egress.js';
import {
  portNames,
  surroundings,
  toolchainFor,
  withDependencies,
  type Component,
  type Engine,
  type Ports,
  type StackContext,
  type StackPart,
  type StartedComponent,
} from './components.js';
import { bringUpEngine, engineComponents, engineOf } from './engine.js';
import { joinerComponent } from './joiner.js';
import {
  apiserverComponents,
  controllerComponents,
  kubernetesPaths,
  prepareKubernetes,
  writeKubeconfigs,
} from './kubernetes.js';
import { repositoryRoot, stackFolder } from './paths.js';
import { freePorts } from './ports.js';
import { removePostgresql } from './postgresql.js';
import { isRunning, launch, signal, stopProcess, waitUntilReady } from './processes.js';
import { readState, withStackLock, writeState, type StackEndpoints, type StackState } from './stack-state.js';
import { graceOf, stopStack } from './stop-stack.js';
import { stowageComponent } from './stowage.js';
import { ensureToolchain } from './toolchain.js';

export interface StackOptions {
  /** Distinguishes stacks of one machine; default `default`. */
  name?: string;
  /** Where logs, data and kubeconfigs go; default `$XDG_STATE_HOME/stowage/<name>`. */
  folder?: string;
  /** What to start; default everything but Stowage itself. A part brings those that it needs. */
  parts?: readonly StackPart[];
  /** Default `stowage-local`. */
  cluster?: string;
  /** Default `us-west-2`. */
  region?: string;
  /** Whether pods will run in containers, of kubelets that are started elsewhere. Nothing is applied to the cluster then. */
  containers?: boolean;
  /** Whether AWS can be reached at its own endpoints through an HTTP proxy alone. */
  proxy?: boolean;
  /** Dynamic settings of Temporal besides those of every stack, such as `limit.historyCount.suggestContinueAsNew`. */
  temporalSettings?: Readonly<Record<string, number>>;
  /** Families of instance types that the region has, such as `m5`; default all. */
  instanceFamilies?: readonly string[] | undefined;
  /** What Temporal runs on; as `STOWAGE_ENGINE` says by default. */
  engine?: Engine;
  /** Address of a moto that stacks share, each with another account; by default the stack starts one. */
  moto?: string | undefined;
  /** Hears one line per step. */
  progress?: (line: string) => void;
}

/** A running stack. */
export interface Stack extends StackEndpoints {
  readonly name: string;
  readonly folder: string;
  readonly cluster: string;
  readonly region: string;
  readonly endpoints: StackEndpoints;
  /** Environment variables that point AWS clients and Stowage's own settings at this stack. */
  readonly environment: Record<string, string>;
  /**
   * Stops one process, by SIGKILL when `hard`; its data and ports are kept. For outage tests. moto and the cloud
   * proxy keep their instances in memory: for a cloud that is away, `freeze` the proxy or script the fault `cut`.
   */
  stopComponent(component: string, hard?: boolean): Promise<void>;
  /** Starts a stopped component again on the same ports and waits until it serves. */
  startComponent(component: string): Promise<void>;
  /** Whether its process is there, frozen or not. */
  isRunning(component: string): boolean;
  /** Freezes (SIGSTOP) or thaws (SIGCONT) a component: it keeps its connections and answers nothing. */
  freeze(component: string, frozen: boolean): void;
  /** Stops every process. */
  stop(): Promise<void>;
}

const silent = (): void => undefined;

/**
 * Brings the stack up and resolves when every part serves. Idempotent: what runs already is kept, what died is
 * started again, and parts not started before are added. A stack of which nothing runs starts empty.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const { name = 'default', progress = silent } = options;
  const folder = resolve(options.folder ?? stackFolder(name));
  return withStackLock(folder, async () => {
    const previous = readState(folder);
    const alive = previous?.components.filter(isRunning) ?? [];
    const state =
      previous !== undefined && alive.length > 0
        ? await resumedState(previous, alive, options)
        : await freshState(name, folder, options);
    const tools = await ensureToolchain(toolchainFor(state.parts, state.engine));
    const {
      cluster,
      region,
      ports,
      containers = false,
      proxy = false,
      temporalSettings = {},
      engine = 'development',
    } = state;
    const facts = { cluster, region, ports, containers, proxy, temporalSettings, engine };
    const context: StackContext = {
      name: state.name,
      folder,
      tools,
      ...facts,
      ...(state.moto && { moto: state.moto }),
      ...(state.instanceFamilies && { instanceFamilies: state.instanceFamilies }),
    };
    writeState(state);
    try {
      await bringUp(context, state, progress);
    } catch (error) {
      await stopAllBut(state, alive);
      throw error;
    }
    return handle(context, state);
  });
}

/** Stops what a failed start has started, since its caller has no handle to it. What ran before stays. */
async function stopAllBut(state: StackState, alive: readonly StartedComponent[]): Promise<void> {
  const kept = new Set(alive.map(({ pid }) => pid));
  const started = state.components.filter((component) => !kept.has(component.pid) && isRunning(component));
  for (const component of started.toReversed()) await stopProcess(component, graceOf(component.name));
  writeState({ ...state, components: state.components.filter(({ pid }) => kept.has(pid)) });
}

async function resumedState(
  previous: StackState,
  alive: StartedComponent[],
  options: StackOptions,
): Promise<StackState> {
  const parts = withDependencies([...previous.parts, ...(options.parts ?? surroundings)]);
  // A newer version may have components, and so ports, that the stack was started without.
  return { ...previous, parts, components: alive, ports: { ...(await choosePorts()), ...previous.ports } };
}

/** An empty stack: what an earlier one left is thrown away. */
async function freshState(name: string, folder: string, options: StackOptions): Promise<StackState> {
  const { cluster = 'stowage-local', region = 'us-west-2', parts = surroundings } = options;
  for (const each of ['data', 'logs']) {
    rmSync(join(folder, each), { recursive: true, force: true });
    mkdirSync(join(folder, each), { recursive: true });
  }
  removePostgresql({ folder });
  return {
    version: 1,
    name,
    folder,
    cluster,
    region,
    containers: options.containers ?? false,
    proxy: options.proxy ?? false,
    temporalSettings: options.temporalSettings ?? {},
    engine: options.engine ?? engineOf(process.env),
    ...(options.instanceFamilies && { instanceFamilies: options.instanceFamilies }),
    ...(options.moto !== undefined && { moto: { endpoint: options.moto, account: newAccount() } }),
    ports: await choosePorts(),
    parts: withDependencies(parts),
    components: [],
    endpoints: {},
  };
}

const newAccount = (): string => String(randomInt(10 ** 11, 2 * 10 ** 11));

async function choosePorts(): Promise<Ports> {
  const free = await freePorts(portNames.length);
  return Object.fromEntries(portNames.map((name, index) => [name, free[index]!])) as Ports;
}

/** Components of independent parts start side by side; within a part, one after the other. */
async function bringUp(context: StackContext, state: StackState, progress: (line: string) => void): Promise<void> {
  const has = (part: StackPart): boolean => state.parts.includes(part);
  const up = (component: Component): Promise<boolean> => ensureRunning(context, state, component, progress);
  const control = async (): Promise<void> => {
    if (!has('apiserver')) return;
    prepareKubernetes(context);
    for (const component of apiserverComponents(context)) await up(component);
    writeKubeconfigs(context);
    publish(context, state);
    if (context.containers !== true) await applyManifests(context);
    if (has('controllers')) await settleAll(controllerComponents(context), up);
  };
  const cloud = async (): Promise<void> => {
    if (!has('cloud')) return;
    let fresh = false;
    for (const component of await cloudComponents(context)) fresh = (await up(component)) || fresh;
    if (fresh) state.endpoints.queueUrl = await seedCloud(context);
  };
  const temporal = async (): Promise<void> => {
    if (has('temporal')) await bringUpEngine(context, up);
  };
  await settleAll([control, cloud, temporal], (part) => part());
  if (has('joiner')) await up(await joinerComponent(context));
  publish(context, state);
  if (has('stowage')) await up(stowageComponent(context, environmentOf(state)));
}

/** Starts the component unless it runs; resolves when it serves, to whether it had to be started. */
async function ensureRunning(
  context: StackContext,
  state: StackState,
  component: Component,
  progress: (line: string) => void,
): Promise<boolean> {
  const started = Date.now();
  const { record, fresh } = ensureLaunched(context, state, component);
  await waitUntilReady(component.name, record, record.log, component.ready);
  if (fresh) {
    const { name, address } = component;
    progress(`${name} serves at ${address} after ${((Date.now() - started) / 1000).toFixed(1)}s`);
  }
  return fresh;
}

/** Starts the component unless it runs, and waits for nothing. */
function ensureLaunched(
  context: StackContext,
  state: StackState,
  { name, part, address, command, args, env }: Component,
): { readonly record: StartedComponent; readonly fresh: boolean } {
  const running = state.components.find((component) => component.name === name && isRunning(component));
  if (running !== undefined) return { record: running, fresh: false };
  const log = join(context.folder, 'logs', `${name}.log`);
  const process = launch(command, args, { log, cwd: repositoryRoot(), ...(env && { env }) });
  const record = { name, part, address, log, ...process };
  state.components = [...state.components.filter((other) => other.name !== name), record];
  writeState(state);
  return { record, fresh: true };
}

function publish(context: StackContext, state: StackState): void {
  const { ports, tools } = context;
  const { endpoints } = state;
  if (state.parts.includes('apiserver')) {
    const { server, adminKubeconfig, stowageKubeconfig } = kubernetesPaths(context);
    Object.assign(endpoints, { apiserver: server, adminKubeconfig, stowageKubeconfig, kubectl: tools.kubectl });
  }
  if (state.parts.includes('temporal')) {
    if (tools.temporal !== undefined) endpoints.temporal = tools.temporal;
    endpoints.temporalAddress = `127.0.0.1:${ports.temporal}`;
    endpoints.temporalMetricsUrl = `http://127.0.0.1:${ports.temporalMetrics}/metrics`;
    if (context.engine !== 'postgres') endpoints.temporalUiUrl = `http://127.0.0.1:${ports.temporalUi}`;
  }
  if (state.parts.includes('stowage')) endpoints.pageUrl = `http://127.0.0.1:${ports.stowagePage}`;
  if (state.parts.includes('cloud')) {
    endpoints.awsEndpoint = `http://127.0.0.1:${ports.proxy}`;
    if (context.proxy === true) {
      endpoints.httpsProxy = endpoints.awsEndpoint;
      endpoints.caBundle = authorityFile(egressFolder(context));
    }
    endpoints.motoEndpoint = motoEndpoint(context);
  }
  writeState(state);
}

/** The environment of a program that works against the stack. */
export function environmentOf(state: Pick<StackState, 'cluster' | 'region' | 'endpoints'>): Record<string, string> {
  const { endpoints } = state;
  return {
    ...(endpoints.awsEndpoint !== undefined && {
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      ...(endpoints.httpsProxy === undefined || endpoints.caBundle === undefined
        ? { AWS_ENDPOINT_URL: endpoints.awsEndpoint }
        : { HTTPS_PROXY: endpoints.httpsProxy, AWS_CA_BUNDLE: endpoints.caBundle }),
      AWS_ACCESS_KEY_ID: 'stowage',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_REGION: state.region,
    }),
    ...(endpoints.stowageKubeconfig !== undefined && { KUBECONFIG: endpoints.stowageKubeconfig }),
    ...(endpoints.temporalAddress !== undefined && { TEMPORAL_ADDRESS: endpoints.temporalAddress }),
    ...(endpoints.apiserver !== undefined && { CLUSTER_ENDPOINT: endpoints.apiserver }),
    ...(endpoints.queueUrl !== undefined && { INTERRUPTION_QUEUE: state.cluster }),
    CLUSTER_NAME: state.cluster,
  };
}

async function allComponents(context: StackContext, parts: readonly StackPart[]): Promise<Component[]> {
  const of: Record<StackPart, () => Promise<Component[]>> = {
    apiserver: () => Promise.resolve(apiserverComponents(context)),
    controllers: () => Promise.resolve(controllerComponents(context)),
    temporal: () => Promise.resolve(engineComponents(context)),
    cloud: () => cloudComponents(context),
    joiner: async () => [await joinerComponent(context)],
    stowage: () => Promise.resolve([stowageComponent(context, environmentOf(readState(context.folder)!))]),
  };
  return (await Promise.all(parts.map((part) => of[part]()))).flat();
}

function handle(context: StackContext, started: StackState): Stack {
  const { name, folder, cluster, region } = context;
  const { endpoints } = started;
  const current = (): StackState => readState(folder) ?? started;
  const find = (component: string): StartedComponent => {
    const found = current().components.find((each) => each.name === component);
    if (found !== undefined) return found;
    const names = current().components.map((each) => each.name);
    throw new Error(`The stack has no component "${component}"; it has ${names.join(', ')}.`);
  };
  return {
    name,
    folder,
    cluster,
    region,
    endpoints,
    ...endpoints,
    environment: environmentOf(started),
    async stopComponent(component, hard = false) {
      await stopProcess(find(component), hard ? 0 : graceOf(component));
    },
    async startComponent(component) {
      const parts = current().parts;
      const wanted = (await allComponents(context, parts)).find((each) => each.name === component);
      if (wanted === undefined) throw new Error(`The stack has no component "${component}".`);
      // Not under the lock until it serves: what it waits for may have to be started, too.
      const { record, fresh } = await withStackLock(folder, () =>
        Promise.resolve(ensureLaunched(context, current(), wanted)),
      );
      await waitUntilReady(component, record, record.log, wanted.ready);
      if (fresh && wanted.part === 'cloud') await seedCloud(context);
    },
    isRunning(component) {
      return isRunning(find(component));
    },
    freeze(component, frozen) {
      signal(find(component), frozen ? 'SIGSTOP' : 'SIGCONT');
    },
    async stop() {
      await stopStack(folder);
    },
  };
}
