import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { priceFile } from '../cloud/aws/price-file.js';
import { createAwsProvider } from '../cloud/aws/provider.js';
import { parseCatalogue } from '../cloud/kwok/catalogue.js';
import { createKwokProvider, kwokOverhead } from '../cloud/kwok/provider.js';
import type { CloudProvider } from '../cloud/port.js';
import type { InstanceType } from '../core/instance-type.js';
import type { KubeClient } from '../kube/port.js';
import { SettingsError } from './settings.js';
import type { Settings } from './settings.js';

/** The cloud that CLOUD_PROVIDER names. Throws `SettingsError` when that cloud's own settings are missing or broken. */
export function createCloud(settings: Settings, kube: KubeClient, log: Logger): CloudProvider {
  return settings.CLOUD_PROVIDER === 'kwok' ? kwok(settings, kube, log) : aws(settings, kube, log);
}

function kwok(settings: Settings, kube: KubeClient, log: Logger): CloudProvider {
  const { INSTANCE_TYPES_FILE_PATH: path } = settings;
  if (path === undefined) {
    throw new SettingsError('INSTANCE_TYPES_FILE_PATH (--instance-types-file-path) is missing: CLOUD_PROVIDER is kwok');
  }
  return createKwokProvider({ kube, types: readTypes(path), onProblem: (message) => log.warn({}, message) });
}

function readTypes(path: string): readonly InstanceType[] {
  try {
    return parseCatalogue(readFileSync(path, 'utf8'), { overhead: kwokOverhead });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`INSTANCE_TYPES_FILE_PATH (--instance-types-file-path) "${path}": ${problem}`);
  }
}

function aws(settings: Settings, kube: KubeClient, log: Logger): CloudProvider {
  const region = settings.AWS_REGION;
  if (region === undefined) throw new SettingsError('AWS_REGION (--aws-region) is missing');
  return createAwsProvider({
    region,
    clusterName: settings.CLUSTER_NAME,
    kubernetesVersion: () => kube.serverVersion(),
    vmMemoryOverheadPercent: settings.VM_MEMORY_OVERHEAD_PERCENT,
    reservedEnis: settings.RESERVED_ENIS,
    isolatedVpc: settings.ISOLATED_VPC,
    zonalShift: settings.ENABLE_ZONAL_SHIFT,
    kubeletExpressions: settings.AWS_FEATURE_GATES.endsWith('=true'),
    ...(settings.PRICE_FILE === undefined ? {} : { priceStore: priceFile(settings.PRICE_FILE) }),
    disableDryRun: settings.DISABLE_DRY_RUN,
    onProblem: (message) => log.warn({}, message),
    ...(settings.AWS_ENDPOINT_URL === undefined ? {} : { endpoint: settings.AWS_ENDPOINT_URL }),
    ...(settings.CLUSTER_ENDPOINT === undefined ? {} : { clusterEndpoint: settings.CLUSTER_ENDPOINT }),
    ...(settings.CLUSTER_CA_BUNDLE === undefined ? {} : { caBundle: settings.CLUSTER_CA_BUNDLE }),
    ...(settings.CLUSTER_SERVICE_CIDR === undefined ? {} : { serviceCidr: settings.CLUSTER_SERVICE_CIDR }),
    ...(settings.INTERRUPTION_QUEUE === '' ? {} : { interruptionQueue: settings.INTERRUPTION_QUEUE }),
  });
}
