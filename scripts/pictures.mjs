// Takes the README's pictures from a stack on which the demo has been played: npm run demo -- --keep, then
//   node scripts/pictures.mjs [--name demo] [--chromium /usr/bin/chromium]
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { chromium } from 'playwright-core';

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: 'demo' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    out: { type: 'string', default: 'docs/pictures' },
  },
});

const state = process.env.XDG_STATE_HOME || join(homedir(), '.local/state');
const { cluster, endpoints } = JSON.parse(readFileSync(join(state, 'stowage', values.name, 'stack.json'), 'utf8'));

async function latest(type) {
  const connection = await Connection.connect({ address: endpoints.temporalAddress });
  try {
    const query = `WorkflowType = "${type}" AND StowageCluster = "${cluster}"`;
    for await (const { workflowId, runId } of new Client({ connection }).workflow.list({ query })) {
      return { workflowId, runId };
    }
    throw new Error(`No ${type} workflow was found.`);
  } finally {
    await connection.close();
  }
}

async function main() {
  const browser = await chromium.launch({
    executablePath: values.chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync', '--no-first-run'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
    const shoot = async (file, path) => {
      await page.goto(`${endpoints.temporalUiUrl}${path}`, { waitUntil: 'networkidle' });
      await page.screenshot({ path: join(values.out, file) });
      console.log(`${file}: ${path}`);
    };
    await shoot('workflows.png', '/namespaces/default/workflows');
    for (const type of ['launchNode', 'handleInterruption', 'consolidate', 'terminateNode']) {
      const { workflowId, runId } = await latest(type);
      await shoot(`${type}.png`, `/namespaces/default/workflows/${encodeURIComponent(workflowId)}/${runId}/timeline`);
    }
  } finally {
    await browser.close();
  }
}

await main();
