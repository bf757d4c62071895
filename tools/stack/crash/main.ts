import { Command, InvalidArgumentError } from 'commander';
import { messageOf } from '../../../core/error-message.js';
import { createNarrator } from '../demo/narrator.js';
import { surroundings } from '../components.js';
import { onStage, type Stage, type StageOptions } from '../stage.js';
import { playMatrix, type MatrixResult } from './matrix.js';
import { matrixTable } from './table.js';

interface CrashCommand extends StageOptions {
  readonly points: number;
  readonly minutes: number;
  readonly lanes: number;
  readonly scenarios?: string[];
}

const minuteMs = 60_000;

async function crash(stage: Stage, { points, minutes, lanes, scenarios }: CrashCommand): Promise<void> {
  const { narrator } = stage;
  narrator.chapter(
    `Worker and operator die at every step, until ${points} steps are reached or ${minutes} minutes are over`,
  );
  const result = await playMatrix(stage, {
    points,
    lanes,
    withinMs: minutes * minuteMs,
    report: (line) => narrator.act(line),
    ...(scenarios === undefined ? {} : { scenarios }),
  });
  narrator.plain(matrixTable(result));
  narrator.see(`${result.points.length} points in ${result.deaths} deaths`);
  expectAllWell(result, points);
}

function expectAllWell({ problems, points }: MatrixResult, wanted: number): void {
  if (problems.length > 0) throw new Error(problems.join('\n'));
  if (points.length < wanted) throw new Error(`${points.length} points were reached, ${wanted} are wanted`);
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0 is wanted');
  return value;
}

const options = new Command('crash')
  .description(
    'Plays scenarios side by side on a real local stack, kills the worker at every step of every workflow and the operator after each kind of write, and looks whether all come to what they should.',
  )
  .option('--points <number>', 'how many steps to reach', positive, 300)
  .option('--minutes <number>', 'how long to try', positive, 20)
  .option('--lanes <number>', 'how often each scenario is played side by side', positive, 2)
  .option('--scenarios <names...>', 'only these')
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'crash')
  .parse()
  .opts<CrashCommand>();

try {
  await onStage({ ...options, parts: surroundings }, createNarrator(), (stage) => crash(stage, options));
} catch (error) {
  process.stderr.write(`\nThe crash matrix failed: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
