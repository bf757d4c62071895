interface Run {
  readonly workflowId: string;
}

/** A workflow that keeps failing has many runs, before those of others. */
const mostRuns = 500;

/** The first run of each workflow in a list, which is its latest: Temporal lists later runs first. */
export async function* lastRuns<R extends Run>(runs: AsyncIterable<R>): AsyncGenerator<R> {
  const seen = new Set<string>();
  let read = 0;
  for await (const run of runs) {
    if (!seen.has(run.workflowId)) yield run;
    seen.add(run.workflowId);
    read += 1;
    if (read >= mostRuns) return;
  }
}
