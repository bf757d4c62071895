import type { Settings } from './settings.js';

const imds = 'http://169.254.169.254';
const imdsMs = 2_000;

interface InstanceMetadataOptions {
  /** Address of the instance metadata service. */
  readonly endpoint?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Settings with a region: as set, otherwise AWS_DEFAULT_REGION, otherwise the region of the instance on which this
 * runs.
 */
export async function withRegion(settings: Settings, options: InstanceMetadataOptions = {}): Promise<Settings> {
  const { environment = process.env } = options;
  if (settings.CLOUD_PROVIDER !== 'aws' || settings.AWS_REGION !== undefined) return settings;
  const named = environment.AWS_DEFAULT_REGION;
  if (named !== undefined && named !== '') return { ...settings, AWS_REGION: named };
  if (environment.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return settings;
  const region = await instanceRegion(options.endpoint ?? environment.AWS_EC2_METADATA_SERVICE_ENDPOINT ?? imds);
  return region === undefined ? settings : { ...settings, AWS_REGION: region };
}

/** Queries IMDSv2; undefined if this is not an instance, or its metadata is not reachable from a pod (hop limit 1). */
async function instanceRegion(endpoint: string): Promise<string | undefined> {
  try {
    const token = await ask(new URL('/latest/api/token', endpoint), 'PUT', {
      'x-aws-ec2-metadata-token-ttl-seconds': '60',
    });
    const region = await ask(new URL('/latest/meta-data/placement/region', endpoint), 'GET', {
      'x-aws-ec2-metadata-token': token,
    });
    return /^[a-z]+(-[a-z]+)+-\d+$/.test(region) ? region : undefined;
  } catch {
    return undefined;
  }
}

async function ask(url: URL, method: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(imdsMs) });
  if (!response.ok) throw new Error(`${method} ${url.pathname}: status ${response.status}`);
  return (await response.text()).trim();
}
