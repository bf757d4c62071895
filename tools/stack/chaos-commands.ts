import type { Command } from 'commander';
import Table from 'cli-table3';
import { CloudProxyControl, type Fault, type SettingsPatch } from './cloud-proxy/control.js';
import type { CapacityKind } from './cloud-proxy/pools.js';
import { addStrangers } from './strangers.js';
import type { StackState } from './stack-state.js';

interface Located {
  name: string;
  dir?: string;
}

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const number = (text: string): number => {
  const value = Number(text);
  if (Number.isNaN(value)) throw new Error(`"${text}" is no number.`);
  return value;
};

function fault(name: string, action: string, options: Record<string, string | undefined>): Fault {
  return {
    kind: name as Fault['kind'],
    action,
    ...(options['code'] !== undefined && { code: options['code'] }),
    ...(options['message'] !== undefined && { message: options['message'] }),
    times: number(options['times'] ?? '1'),
    after: number(options['after'] ?? '0'),
    delayMs: number(options['delay'] ?? '1') * 1000,
  };
}

type StateOf = (options: Located) => StackState | undefined;
type Adder = (name: string) => Command;

function addFaultCommands(add: Adder, on: (options: Located) => CloudProxyControl): void {
  const kinds: [string, string][] = [
    ['error', 'answer with an error (--code)'],
    ['throttle', 'answer with RequestLimitExceeded'],
    ['delay', 'hold the call up (--delay seconds)'],
    ['lost', 'let the call take effect and lose its answer'],
    ['cut', 'cut the connection before the call takes effect'],
    ['hang', 'never answer'],
  ];
  for (const [kind, what] of kinds) {
    add(kind)
      .argument('<action>', 'an action such as CreateFleet; * for any')
      .description(what)
      .option('--code <code>', 'the error’s code')
      .option('--message <text>', 'the error’s message')
      .option('--times <n>', 'to how many calls; 0 for ever', '1')
      .option('--after <n>', 'how many calls go through before', '0')
      .option('--delay <seconds>', 'for delay', '1')
      .action(async (action: string, options: Located & Record<string, string | undefined>) => {
        const id = await on(options).addFault(fault(kind, action, options));
        print(`fault ${id} is armed`);
      });
  }
}

function addCapacityCommands(add: Adder, on: (options: Located) => CloudProxyControl): void {
  add('capacity')
    .argument('<instance-type>', 'with * for any')
    .description('take capacity away from pools')
    .option('--zone <zone>', 'one zone alone')
    .option('--capacity-type <type>', 'spot or on-demand')
    .option('--left <n>', 'instances that can still be launched', '0')
    .option('--code <code>', 'the error', 'InsufficientInstanceCapacity')
    .action(async (instanceType: string, options: Located & Record<string, string | undefined>) => {
      const { zone, capacityType, code, left = '0' } = options;
      const control = on(options);
      const rule = {
        instanceType,
        ...(zone !== undefined && { zone }),
        ...(capacityType !== undefined && { capacityType: capacityType as CapacityKind }),
        ...(code !== undefined && { code }),
        capacity: number(left),
      };
      await control.setPools([rule, ...(await control.pools())]);
      print(`${instanceType}: ${left} left`);
    });
  add('price')
    .argument('<instance-type>', 'with * for any')
    .argument('<dollars>', 'per hour')
    .description('set spot prices')
    .option('--zone <zone>', 'one zone alone')
    .action(async (instanceType: string, dollars: string, options: Located & { zone?: string }) => {
      const { zone } = options;
      const changed = await on(options).setSpot({
        instanceType,
        price: number(dollars),
        ...(zone !== undefined && { zone }),
      });
      print(`${changed} spot prices changed`);
    });
}

function addSettingCommands(add: Adder, on: (options: Located) => CloudProxyControl): void {
  add('walk')
    .argument('<volatility>', 'by how much of itself a price may change in a step, such as 0.05; 0 stops')
    .description('let every spot price walk at random')
    .option('--interval <seconds>', 'between steps', '10')
    .option('--seed <text>', 'the same seed walks the same way', 'stowage')
    .action(async (volatility: string, options: Located & { interval: string; seed: string }) => {
      const walk = { volatility: number(volatility), intervalMs: number(options.interval) * 1000, seed: options.seed };
      await on(options).configure({ spotWalk: walk.volatility > 0 ? walk : null });
      print(walk.volatility > 0 ? 'spot prices walk' : 'spot prices are constant');
    });
  add('set')
    .argument('<json>', 'such as {"pendingMs": 20000, "joiner": {"joinDelayMs": 30000}}')
    .description('change any setting of the cloud or the node joiner; {} shows them all')
    .action(async (json: string, options: Located) => {
      print(JSON.stringify(await on(options).configure(JSON.parse(json) as SettingsPatch), null, 2));
    });
}

function addAccountCommands(add: Adder, on: (options: Located) => CloudProxyControl, stateOf: StateOf): void {
  addReachCommands(add, on);
  add('protect')
    .argument('<instance-id>')
    .description('let termination protection keep an instance')
    .option('--stop', 'stop protection instead')
    .action(async (id: string, options: Located & { stop?: boolean }) => {
      const control = on(options);
      const { protectedInstances } = await control.settings();
      const kind = options.stop === true ? 'stop' : 'termination';
      await control.configure({ protectedInstances: { ...protectedInstances, [id]: kind } });
      print(`${id} is under ${kind} protection`);
    });
  add('slow')
    .description('let every answer take its time')
    .option('--from <seconds>', 'at least; 0 with --to 0 ends it', '3')
    .option('--to <seconds>', 'at most', '7')
    .action(async (options: Located & { from: string; to: string }) => {
      const [from, to] = [number(options.from) * 1000, number(options.to) * 1000];
      await on(options).configure({ latencyMs: to > 0 ? { from, to } : null });
      print(to > 0 ? `answers take ${options.from} to ${options.to} s` : 'answers take no time of their own');
    });
  add('terminations')
    .argument('<seconds>')
    .description('how long instances take to end')
    .action(async (seconds: string, options: Located) => {
      await on(options).configure({ shuttingDownMs: number(seconds) * 1000 });
      print(`instances take ${seconds} s to end`);
    });
  add('strangers')
    .description(
      'fill the account with what is not Stowage’s: a managed node group of the cluster, and another cluster',
    )
    .action(async (options: Located) => {
      const { cluster, region, endpoints } = stateOf(options)!;
      const cloud = { cluster, region, endpoint: endpoints.awsEndpoint! };
      print(JSON.stringify(await addStrangers(cloud, Date.now().toString(36)), null, 2));
    });
  add('permissions')
    .description('show what IAM allowed, by principal and action, and what it denied')
    .action(async (options: Located) => {
      print(JSON.stringify(await on(options).permissions(), null, 2));
    });
}

function addInstanceCommands(add: Adder, on: (options: Located) => CloudProxyControl): void {
  add('instances')
    .description('list the cloud’s instances')
    .action(async (options: Located) => {
      const table = new Table({ head: ['instance', 'state', 'type', 'zone', 'capacity', 'node'], style: { head: [] } });
      for (const each of await on(options).instances()) {
        table.push([each.id, each.state, each.instanceType, each.zone, each.lifecycle, each.privateDnsName]);
      }
      print(table.toString());
    });
  add('interrupt')
    .argument('<instance-id>')
    .description('send the spot interruption warning; EC2 terminates the instance afterwards')
    .option('--warning <seconds>', 'from the warning to the end', '120')
    .action(async (id: string, options: Located & { warning: string }) => {
      await on(options).interruptSpot(id, { delayMs: number(options.warning) * 1000 });
      print(`${id} will be reclaimed in ${options.warning}s`);
    });
  add('rebalance')
    .argument('<instance-id>')
    .description('send a rebalance recommendation')
    .action(async (id: string, options: Located) => {
      await on(options).recommendRebalance(id);
      print(`sent for ${id}`);
    });
  add('impair')
    .argument('<instance-id>')
    .description('let the system status checks fail')
    .action(async (id: string, options: Located) => {
      await on(options).setHealth(id, { systemStatus: 'impaired', impairedSince: new Date().toISOString() });
      print(`${id} is impaired`);
    });
}

/** `stack chaos ...`: the control API for people. */
export function addChaosCommands(program: Command, located: (command: Command) => Command, stateOf: StateOf): void {
  const chaos = program.command('chaos').description('make the local cloud misbehave');
  const on = (options: Located): CloudProxyControl => {
    const endpoint = stateOf(options)?.endpoints.awsEndpoint;
    if (endpoint === undefined)
      throw new Error(`The stack "${options.name}" has no cloud; start it with: npm run stack -- up`);
    return new CloudProxyControl(endpoint);
  };
  const add: Adder = (name) => located(chaos.command(name));
  addFaultCommands(add, on);
  addCapacityCommands(add, on);
  addInstanceCommands(add, on);
  addAccountCommands(add, on, stateOf);
  addSettingCommands(add, on);
  add('list')
    .description('show the armed faults and capacity rules')
    .action(async (options: Located) => {
      const control = on(options);
      print(JSON.stringify({ faults: await control.faults(), pools: await control.pools() }, null, 2));
    });
  add('clear')
    .description('end all misbehaviour')
    .action(async (options: Located) => {
      await on(options).reset();
      print('the cloud behaves again');
    });
}

/** What of AWS cannot be reached. */
function addReachCommands(add: Adder, on: (options: Located) => CloudProxyControl): void {
  add('no-prices')
    .description('take the Pricing API away, as in an isolated VPC')
    .action(async (options: Located) => {
      await on(options).configure({ pricing: false });
      print('the Pricing API cannot be reached');
    });
  add('isolate')
    .description('take away what has no VPC endpoint, as in an isolated VPC: IAM and the Pricing API')
    .option('--end', 'give it back')
    .action(async (options: Located & { end?: boolean }) => {
      await on(options).configure({ isolatedVpc: options.end !== true });
      print(
        options.end === true ? 'IAM and the Pricing API can be reached' : 'IAM and the Pricing API cannot be reached',
      );
    });
  add('require-proxy')
    .description(
      'take the direct way to AWS away: what Stowage does not send through the HTTP proxy of `up --proxy` is cut',
    )
    .option('--end', 'give it back')
    .action(async (options: Located & { end?: boolean }) => {
      await on(options).configure({ proxyRequired: options.end !== true });
      print(options.end === true ? 'AWS can be reached directly' : 'AWS can be reached through the HTTP proxy alone');
    });
}
