// Takes the README's pictures from a stack on which the demo has been played: npm run demo -- --keep, then
//   node scripts/pictures.mjs [--name demo] [--chromium /usr/bin/chromium]
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: 'demo' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    out: { type: 'string', default: 'docs/pictures' },
  },
});

const state = process.env.XDG_STATE_HOME || join(homedir(), '.local/state');
const { endpoints } = JSON.parse(readFileSync(join(state, 'stowage', values.name, 'stack.json'), 'utf8'));
const steering = ['--cluster-name', 'stowage-local', '--temporal-address', endpoints.temporalAddress];

async function main() {
  const browser = await chromium.launch({
    executablePath: values.chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync', '--no-first-run'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
    const open = (path) => page.goto(`${endpoints.temporalUiUrl}${path}`, { waitUntil: 'networkidle' });
    const shoot = (file) => page.screenshot({ path: join(values.out, file) });
    await page.setContent(
      execFileSync(process.execPath, ['bin/stowage', 'report', '-o', 'html', ...steering], { encoding: 'utf8' }),
    );
    await shoot('report.png');
    await open('/namespaces/default/workflows');
    await shoot('workflows.png');
    for (const kind of ['launch', 'interrupt', 'consolidate', 'terminate']) {
      await open('/namespaces/default/workflows');
      // The list shows the latest first.
      await page.locator(`a[href*="${kind}"]`).first().click();
      await page.getByText('Event History').first().waitFor();
      await page.waitForLoadState('networkidle');
      await shoot(`${kind}.png`);
    }
  } finally {
    await browser.close();
  }
}

await main();
