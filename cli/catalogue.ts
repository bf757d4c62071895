import type { Command } from 'commander';
import { writeCatalogue } from '../cloud/kwok/catalogue.js';
import { regionTypes } from '../process/cloud.js';
import { withRegion } from '../process/region.js';
import { readSettings } from '../process/settings.js';
import { warn } from './output/print.js';
import { givenFlags, settingsCommand } from './settings-command.js';

/** Settings that have a say in what a region offers, and in how AWS is asked for it. */
const regionSettings =
  /^(AWS_REGION|AWS_ENDPOINT_URL|AWS_CA_BUNDLE|HTTPS_PROXY|NO_PROXY|PRICE_FILE|ISOLATED_VPC|VM_MEMORY_OVERHEAD_PERCENT|RESERVED_ENIS)$/;

export function catalogueCommand(): Command {
  return settingsCommand('catalogue', { only: regionSettings });
}

/** `stowage catalogue`: what a region of AWS offers, as `stowage plan --catalogue` reads it. What is not current in it goes to the standard error. */
export async function catalogue(args: readonly string[]): Promise<string> {
  const command = catalogueCommand();
  command.parse(args, { from: 'user' });
  // There is no cluster, and what is set for one does not count.
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => regionSettings.test(name.toUpperCase())),
  );
  const settings = await withRegion(readSettings(environment, { ...givenFlags(command), 'cluster-name': 'none' }));
  return writeCatalogue(await regionTypes(settings, (problem) => warn(`stowage: ${problem}\n`)));
}
