import type { Command } from 'commander';
import { writeCatalogue } from '../cloud/kwok/catalogue.js';
import { regionTypes } from '../process/cloud.js';
import { withRegion } from '../process/region.js';
import { readSettings } from '../process/settings.js';
import { warn } from './output/print.js';
import { givenFlags, settingsCommand } from './settings-command.js';

/** Settings that affect the offerings of a region, or how AWS is called. */
const regionSettings =
  /^(AWS_REGION|AWS_ENDPOINT_URL|AWS_CA_BUNDLE|HTTPS_PROXY|NO_PROXY|PRICE_FILE|ISOLATED_VPC|VM_MEMORY_OVERHEAD_PERCENT|RESERVED_ENIS)$/;

export function catalogueCommand(): Command {
  return settingsCommand('catalogue', { only: regionSettings });
}

/**
 * `stowage catalogue`: the offerings of an AWS region, in the format of `stowage plan --catalogue`. Warnings about
 * outdated data go to stderr.
 */
export async function catalogue(args: readonly string[]): Promise<string> {
  const command = catalogueCommand();
  command.parse(args, { from: 'user' });
  // There is no cluster, so settings for one are ignored.
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => regionSettings.test(name.toUpperCase())),
  );
  const settings = await withRegion(readSettings(environment, { ...givenFlags(command), 'cluster-name': 'none' }));
  return writeCatalogue(await regionTypes(settings, (problem) => warn(`stowage: ${problem}\n`)));
}
