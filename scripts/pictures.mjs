// Takes the pictures of README and docs/ from a stack that runs. For those of the demo: npm run demo -- --keep, then
//   node scripts/pictures.mjs [--name demo] [--chromium /usr/bin/chromium]
// For status.png, question.png and report.png, of a stack on which somebody is asked something:
//   node scripts/pictures.mjs --name NAME --people
// For pods.png, of what npm run test:install said of them:
//   node scripts/pictures.mjs --terminal pods.png --command 'kubectl get pods -A -o wide' < what-it-said.txt
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
    people: { type: 'boolean', default: false },
    terminal: { type: 'string' },
    command: { type: 'string', default: '' },
    folder: { type: 'string' },
  },
});

const state = process.env.XDG_STATE_HOME || join(homedir(), '.local/state');
const folder = values.folder ?? join(state, 'stowage', values.name);
const { endpoints = {} } =
  values.terminal === undefined ? JSON.parse(readFileSync(join(folder, 'stack.json'), 'utf8')) : {};
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
    if (values.terminal === undefined) await (values.people ? people : demo)({ page, open, shoot });
    else await terminal(page, values.command, readFileSync(0, 'utf8'), values.terminal);
  } finally {
    await browser.close();
  }
}

async function demo({ page, open, shoot }) {
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
}

/** What a command printed, as a terminal has it. */
async function terminal(page, command, text, file) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const longest = Math.max(...text.split('\n').map(({ length }) => length));
  const style =
    `display: inline-block; width: ${Math.min(150, Math.max(132, longest))}ch; margin: 0; padding: 20px; ` +
    'font: 13px/1.45 monospace; background: #16191d; ' +
    'color: #e6e6e6; white-space: pre-wrap; overflow-wrap: anywhere';
  await page.setViewportSize({ width: 1300, height: 1000 });
  await page.setContent(`<body style="margin: 0"><pre style="${style}">$ ${command}\n${escaped}</pre></body>`);
  await page.locator('pre').screenshot({ path: join(values.out, file) });
}

/** What `stowage status` says, as a terminal has it, a question as the Temporal UI has it, and the report. */
async function people({ page, open, shoot }) {
  const text = execFileSync(
    process.execPath,
    ['bin/stowage', 'status', ...steering, '--kubeconfig', endpoints.adminKubeconfig],
    {
      encoding: 'utf8',
    },
  );
  await terminal(page, 'stowage status', text, 'status.png');
  await page.setViewportSize({ width: 1440, height: 1000 });
  await open(`/namespaces/default/workflows?query=${encodeURIComponent('StowageAwaitingApproval = true')}`);
  await page.locator('a[href*="consolidate"]').first().click();
  await page.getByText('Event History').first().waitFor();
  // What it asks stands in its current details.
  await page.getByText('User Metadata').first().click();
  await page.frameLocator('iframe').last().getByText('awaiting approval').first().waitFor();
  await shoot('question.png');
  await page.setViewportSize({ width: 1100, height: 1200 });
  await page.setContent(
    execFileSync(process.execPath, ['bin/stowage', 'report', '--since', '2h', '-o', 'html', ...steering], {
      encoding: 'utf8',
    }),
  );
  await shoot('report.png');
}

await main();
