import type { Command } from 'commander';
import type { CommandName } from './command-texts.js';
import type { OrderName } from './order.js';
import { print } from './output/print.js';

/** A command that parses its flags itself, including settings of the process. */
interface LiveCommand {
  /** Its options. */
  readonly command: () => Command;
  /** Returns the text to print. */
  readonly run: (flags: readonly string[]) => Promise<string>;
}

type Load = () => Promise<LiveCommand>;

const order =
  (name: OrderName): Load =>
  async () => {
    const { order: run, orderCommand } = await import('./order.js');
    return { command: () => orderCommand(name), run: async (flags) => run(name, flags) };
  };

async function runOnce(name: CommandName, args: readonly string[]): Promise<string> {
  if (name === 'plan') return (await import('./plan-live.js')).planLive(args);
  return (await liveCommands.get(name)!()).run(args);
}

/** Commands on a live cluster or account by name, in the order of the help; the code of each is loaded on use. */
export const liveCommands: ReadonlyMap<CommandName, Load> = new Map<CommandName, Load>([
  [
    'catalogue',
    async () => {
      const { catalogue, catalogueCommand } = await import('./catalogue.js');
      return { command: catalogueCommand, run: catalogue };
    },
  ],
  [
    'run',
    async () => {
      const { run, runCommand } = await import('./run.js');
      return {
        command: runCommand,
        run: async (flags) => {
          process.exitCode = await run(flags);
          return '';
        },
      };
    },
  ],
  [
    'status',
    async () => {
      const { status, statusCommand } = await import('./status.js');
      return { command: statusCommand, run: status };
    },
  ],
  [
    'why',
    async () => {
      const { why, whyCommand } = await import('./why.js');
      return { command: whyCommand, run: why };
    },
  ],
  [
    'history',
    async () => {
      const { history, historyCommand } = await import('./history.js');
      return { command: historyCommand, run: history };
    },
  ],
  [
    'doctor',
    async () => {
      const { doctor, doctorCommand } = await import('./doctor.js');
      return {
        command: doctorCommand,
        run: async (flags) => {
          const { text, status } = await doctor(flags);
          // Exits without waiting for pending requests.
          print(text, () => process.exit(status));
          return '';
        },
      };
    },
  ],
  [
    'report',
    async () => {
      const { report, reportCommand } = await import('./report.js');
      return { command: reportCommand, run: report };
    },
  ],
  [
    'pause',
    async () => {
      const { pause, pauseCommand } = await import('./pause.js');
      return { command: pauseCommand, run: pause };
    },
  ],
  [
    'resume',
    async () => {
      const { resume, resumeCommand } = await import('./pause.js');
      return { command: resumeCommand, run: resume };
    },
  ],
  ['approve', order('approve')],
  ['reject', order('reject')],
  ['abort', order('abort')],
  ['expedite', order('expedite')],
  ['retry', order('retry')],
  ['hold', order('hold')],
  ['rollback', order('rollback')],
  [
    'reconsider',
    async () => {
      const { reconsider, reconsiderCommand } = await import('./reconsider.js');
      return { command: reconsiderCommand, run: reconsider };
    },
  ],
  [
    'uninstall',
    async () => {
      const { uninstall, uninstallCommand } = await import('./uninstall.js');
      return { command: uninstallCommand, run: uninstall };
    },
  ],
  [
    'mcp',
    async () => {
      const { mcp, mcpCommand } = await import('./mcp.js');
      return { command: mcpCommand, run: (flags) => mcp(flags, runOnce) };
    },
  ],
  [
    'codec-server',
    async () => {
      const { codecServerCommand, serveCodec } = await import('./codec-server.js');
      return { command: codecServerCommand, run: serveCodec };
    },
  ],
]);
