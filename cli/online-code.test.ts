import { expect, test } from 'vitest';
import { liveCommands } from './live-commands.js';
import { loadOnline } from './online-code.js';

test('online commands run from sources where no bundle was built', async () => {
  const online = await loadOnline();
  expect([...online.liveCommands.keys()]).toEqual([...liveCommands.keys()]);
  const { command } = await online.liveCommands.get('status')!();
  expect(command().helpInformation()).toContain('--watch');
});
