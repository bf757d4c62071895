/** Without a dollar sign: the Temporal UI renders text between two of them as a formula. */
export function dollars(amount: number): string {
  return `${String(Math.round(amount * 1e4) / 1e4)} USD`;
}
