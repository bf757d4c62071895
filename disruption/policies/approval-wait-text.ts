/** What a command that people are asked about waits for: the answer, or after it its turn. `what` is the command, if its name does not say so. */
export function approvalWaitText({ isApproved = false }: { readonly isApproved?: boolean }, what?: string): string {
  const of = what === undefined ? '' : ` of ${what}`;
  return isApproved ? `waits for its turn after the approval${of}` : `waits for approval${of}`;
}
