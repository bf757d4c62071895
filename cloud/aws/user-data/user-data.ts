import { taints as taintNames } from '../../../api/labels.js';
import { DomainError } from '../../../core/failures.js';
import { al2UserData } from './al2.js';
import { al2023UserData } from './al2023.js';
import { bottlerocketUserData } from './bottlerocket.js';
import type { UserDataInput } from './input.js';
import { windowsUserData } from './windows.js';

/** EC2's limit before encoding. */
export const userDataLimit = 16_384;

/**
 * User data of a node in the format of its AMI family (launch-templates/user-data); always adds the unregistered taint.
 * Throws `NodeClassNotReady` if the user's part cannot be parsed or the result exceeds EC2's limit.
 */
export function renderUserData(input: UserDataInput): string {
  const text = render({ ...input, taints: [...input.taints, { ...taintNames.unregistered }] });
  const size = Buffer.byteLength(text);
  if (size > userDataLimit) {
    throw new DomainError(
      'NodeClassNotReady',
      `UserDataSizeLimitExceeded: ${size} bytes of user data, EC2 takes ${userDataLimit}`,
    );
  }
  return text;
}

function render(input: UserDataInput): string {
  switch (input.family) {
    case 'AL2':
      return al2UserData(input);
    case 'AL2023':
      return al2023UserData(input);
    case 'Bottlerocket':
      return bottlerocketUserData(input);
    case 'Windows2019':
    case 'Windows2022':
    case 'Windows2025':
      return windowsUserData(input);
    case 'Custom':
      return input.custom ?? '';
  }
}
