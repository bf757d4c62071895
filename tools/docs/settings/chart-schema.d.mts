export function withSettings(schema: object, settings: readonly { readonly name: string }[]): object;
