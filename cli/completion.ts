import { bashScript } from './completion/bash.js';
import type { Described } from './completion/described.js';
import { fishScript } from './completion/fish.js';
import { zshScript } from './completion/zsh.js';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export type Shell = keyof typeof scripts;

/** `stowage completion SHELL`: the script for a shell. */
export const completionScript = (shell: Shell, commands: readonly Described[]): string => scripts[shell](commands);
