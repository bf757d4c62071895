export function nativeLibrary(bridge: string, arch: string | undefined, own?: string): string;
