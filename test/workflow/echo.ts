import { proxyActivities } from '@temporalio/workflow';

const { say } = proxyActivities<{ say(text: string): Promise<string> }>({ startToCloseTimeout: '10 seconds' });

/** A workflow for tests of connections. */
export async function echo(text: string): Promise<string> {
  return say(text);
}
