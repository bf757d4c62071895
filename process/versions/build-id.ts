import type { Log } from '../../core/telemetry.js';
import { workflowDigest } from '../../worker/bundle.js';
import { buildInfo } from '../gauges/build-info.js';
import type { Settings } from '../settings.js';
import type { Deployment } from './deployment.js';

/**
 * The build that the workers of this process are: the version of the image, and the digest of its workflow code, which tells two images of one version
 * apart. Undefined where workers have no version, by the settings or because the server knows of none, which is logged.
 */
export async function buildIdFor(
  settings: Pick<Settings, 'WORKER_VERSIONING' | 'WORKER_BUILD_ID'>,
  deployment: Pick<Deployment, 'state'>,
  log: Pick<Log, 'warn'>,
): Promise<string | undefined> {
  if (!settings.WORKER_VERSIONING) return undefined;
  if ((await deployment.state()) === 'unsupported') {
    log.warn({}, 'Temporal has no worker versioning here (it is on from 1.28): workers have no version');
    return undefined;
  }
  return settings.WORKER_BUILD_ID ?? `${buildInfo().version}-${await workflowDigest()}`;
}
