export function isStale(): boolean;
export function build(): Promise<void>;
