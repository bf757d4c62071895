import { executeChild, proxyActivities } from '@temporalio/workflow';

/** A workflow for tests of connections and payloads. */
export async function echo(text: string, taskQueue?: string): Promise<string> {
  const { say } = proxyActivities<{ say(text: string): Promise<string> }>({
    startToCloseTimeout: '10 seconds',
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  return say(text);
}

/** Gives what its child gives. */
export async function relay(text: string, taskQueue: string): Promise<string> {
  return executeChild(plain, { args: [text], taskQueue });
}

export function plain(text: string): Promise<string> {
  return Promise.resolve(text);
}
