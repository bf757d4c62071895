import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { priceFile } from '../cloud/aws/prices.js';
import type { AwsOptions } from '../cloud/aws/options.js';
import { createAwsProvider } from '../cloud/aws/provider.js';
import { parseCatalogue } from '../cloud/kwok/catalogue.js';
import { createKwokProvider, kwokOverhead } from '../cloud/kwok/provider.js';
import type { CloudProvider } from '../cloud/port.js';
import { isDomainError } from '../core/failures.js';
import type { InstanceType } from '../core/instance-type.js';
import type { KubeClient } from '../kube/port.js';
import { SettingsError, type Settings } from './settings.js';
import { messageOf } from '../core/error-message.js';

/** The cloud provider for CLOUD_PROVIDER. Throws `SettingsError` if its settings are missing or invalid. */
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
    const problem = messageOf(error);
    throw new SettingsError(`INSTANCE_TYPES_FILE_PATH (--instance-types-file-path) "${path}": ${problem}`);
  }
}

/**
 * The instance types of the AWS region in the settings, with prices; `onProblem` is called for prices that are not
 * current.
 */
export function regionTypes(
  settings: Settings,
  onProblem: (message: string) => void,
): Promise<readonly InstanceType[]> {
  return createAwsProvider(awsOptions(settings, onProblem)).regionTypes();
}

function aws(settings: Settings, kube: KubeClient, log: Logger): CloudProvider {
  return createAwsProvider({
    ...awsOptions(settings, (message) => log.warn({}, message)),
    kubernetesVersion: () => kube.serverVersion(),
    apiServerCa: () => kube.certificateAuthority?.() ?? Promise.resolve(undefined),
    clusterDns: () => clusterDns(kube),
  });
}

function awsOptions(settings: Settings, onProblem: (message: string) => void): AwsOptions {
  const region = settings.AWS_REGION;
  if (region === undefined)
    throw new SettingsError('AWS_REGION (--aws-region) is missing, and instance metadata is not available');
  return {
    region,
    clusterName: settings.CLUSTER_NAME,
    vmMemoryOverheadPercent: settings.VM_MEMORY_OVERHEAD_PERCENT,
    reservedEnis: settings.RESERVED_ENIS,
    isolatedVpc: settings.ISOLATED_VPC,
    reservedCapacity: settings.FEATURE_GATES.ReservedCapacity,
    zonalShift: settings.ENABLE_ZONAL_SHIFT,
    kubeletExpressions: settings.AWS_FEATURE_GATES.endsWith('=true'),
    ...(settings.PRICE_FILE === undefined ? {} : { priceStore: priceFile(settings.PRICE_FILE) }),
    disableDryRun: settings.DISABLE_DRY_RUN,
    onProblem,
    onCall: traceCall,
    noProxy: settings.NO_PROXY,
    ...(settings.HTTPS_PROXY === undefined ? {} : { httpsProxy: settings.HTTPS_PROXY }),
    ...(settings.AWS_CA_BUNDLE === undefined ? {} : { trustedCa: readCertificates(settings.AWS_CA_BUNDLE) }),
    ...(settings.AWS_ENDPOINT_URL === undefined ? {} : { endpoint: settings.AWS_ENDPOINT_URL }),
    ...(settings.CLUSTER_ENDPOINT === undefined ? {} : { clusterEndpoint: settings.CLUSTER_ENDPOINT }),
    ...(settings.CLUSTER_CA_BUNDLE === undefined ? {} : { caBundle: settings.CLUSTER_CA_BUNDLE }),
    ...(settings.CLUSTER_SERVICE_CIDR === undefined ? {} : { serviceCidr: settings.CLUSTER_SERVICE_CIDR }),
    ...(settings.INTERRUPTION_QUEUE === '' ? {} : { interruptionQueue: settings.INTERRUPTION_QUEUE }),
  };
}

/** Adds a span for each call to the trace of its caller. */
function traceCall({ action, durationMs, code }: { action: string; durationMs: number; code: string }): void {
  const span = trace.getTracer('stowage').startSpan(action, { startTime: Date.now() - durationMs });
  if (code !== '') span.setStatus({ code: SpanStatusCode.ERROR, message: code });
  span.end();
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const problem = messageOf(error);
    throw new SettingsError(`AWS_CA_BUNDLE (--aws-ca-bundle) "${path}": ${problem}`);
  }
}

/** Undefined also without permission to read services: nodes then find the address themselves. */
async function clusterDns(kube: KubeClient): Promise<string | undefined> {
  try {
    const service = await kube.get('Service', { namespace: 'kube-system', name: 'kube-dns' });
    const address = service?.spec.clusterIP ?? '';
    return isIP(address) === 0 ? undefined : address;
  } catch (error) {
    if (isDomainError(error, 'Denied')) return undefined;
    throw error;
  }
}
