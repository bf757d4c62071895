export function settingsPage(
  settings: readonly {
    readonly name: string;
    readonly flag: string | undefined;
    readonly default: string | undefined;
    readonly description: string;
  }[],
): string;
