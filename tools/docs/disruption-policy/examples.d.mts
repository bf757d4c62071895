export const examples: Readonly<Record<string, { readonly says: string; readonly yaml: string }>>;
export function policyOf(field: string): string;
