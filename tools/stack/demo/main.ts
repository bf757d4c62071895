import { Command, Option } from 'commander';
import { inContainers, runsContainers } from '../containers.js';
import { onStage, type Setting, type StageOptions } from '../stage.js';
import { createNarrator } from './narrator.js';
import { nodeTable } from './node-table.js';
import { playStory } from './story.js';
import { messageOf } from '../../../core/error-message.js';

interface DemoOptions extends StageOptions {
  readonly way?: 'docker' | 'processes';
}

const program = new Command('demo')
  .description('Plays the story of a few nodes on a real local stack, and prints what happens.')
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'demo')
  .addOption(
    new Option('--way <way>', 'containers of docker-compose.yml, or processes; Docker where it is present').choices([
      'docker',
      'processes',
    ]),
  );

const narrator = createNarrator();

async function play(setting: Setting): Promise<void> {
  await playStory(setting);
  narrator.chapter('What happened to each node');
  narrator.plain(await nodeTable(setting));
}

try {
  const options = program.parse().opts<DemoOptions>();
  const way = options.way ?? ((await runsContainers()) ? 'docker' : 'processes');
  if (way === 'docker') {
    narrator.plain('Docker runs here: the shortest way. (`--way processes` takes the other.)');
    await inContainers(options, narrator, play);
  } else {
    narrator.plain(
      'Processes of this machine: programs that are missing are downloaded where they can be, and compiled otherwise.',
    );
    await onStage(options, narrator, play);
  }
} catch (error) {
  process.stderr.write(`\nThe demo failed: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
