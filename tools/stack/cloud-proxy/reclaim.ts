import type { Cloud } from './cloud.js';

/** Terminates without a caller, as EC2 does with spot instances. */
export async function reclaim(cloud: Cloud, id: string): Promise<void> {
  const instance = cloud.instances.get(id);
  if (instance === undefined || instance.state === 'terminated' || instance.state === 'shutting-down') return;
  await cloud.moto.ec2('TerminateInstances', { InstanceId: { '1': id } });
  cloud.instances.terminate([instance], 'Server.SpotInstanceTermination');
}

/** Warns of the end of a spot instance, and ends it after `delayMs`; undefined: warns alone. */
export function interruptSpot(cloud: Cloud, id: string, delayMs: number | undefined): void {
  cloud.events.spotInterruption(id);
  if (delayMs !== undefined) setTimeout(() => void reclaim(cloud, id), delayMs).unref();
}
