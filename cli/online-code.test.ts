import { expect, test } from 'vitest';
import { liveCommands } from './live-commands.js';
import { loadOnline } from './online-code.js';

test('the sources serve where no bundle has been built', async () => {
  const online = await loadOnline();
  expect([...online.liveCommands.keys()]).toEqual([...liveCommands.keys()]);
  const { command } = await online.liveCommands.get('status')!();
  expect(command().helpInformation()).toContain('--watch');
});
