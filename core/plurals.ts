/** A count with its noun: `1 pod`, `3 pods`. Every text that counts something is made with it. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** The verb for a count: `1 pod is`, `2 pods are`. */
export function verb(count: number, singular: string, plural: string): string {
  return count === 1 ? singular : plural;
}
