import { Command } from 'commander';
import { onStage, type StageOptions } from '../stage.js';
import { createNarrator } from './narrator.js';
import { nodeTable } from './node-table.js';
import { playStory } from './story.js';
import { messageOf } from '../../core/error-message.js';

const program = new Command('demo')
  .description('Plays the story of a few nodes on a real local stack, and tells what happens.')
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'demo');

const tell = createNarrator();
try {
  await onStage(program.parse().opts<StageOptions>(), tell, async (stage) => {
    await playStory(stage);
    tell.chapter('What happened to each node');
    tell.plain(await nodeTable(stage));
  });
} catch (error) {
  process.stderr.write(`\nThe demo failed: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
