import { createHash } from 'node:crypto'

/** In code points; with a suffix and an extension far below the 255 bytes of file systems. */
const MAX_LENGTH = 48
/** Names that Windows reserves for devices, with any extension. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/

/**
 * Derives a file name without extension from each policy's name: letters and digits in lower case
 * with hyphens between them, so that it cannot lead out of the directory. Policies that would share
 * a name, or whose name `isTaken`, also get the start of a hash of the policy's name, so that file
 * names do not depend on the order of policies.
 */
export function nameFiles(
  policyNames: readonly string[],
  isTaken: (fileName: string) => boolean,
): ReadonlyMap<string, string> {
  const uses = new Map<string, number>()
  for (const name of policyNames) {
    const plain = plainName(name)
    uses.set(plain, (uses.get(plain) ?? 0) + 1)
  }
  return new Map(
    policyNames.map((name) => {
      const plain = plainName(name)
      const isUnique = plain !== '' && uses.get(plain) === 1 && !isTaken(plain)
      return [name, isUnique ? plain : `${plain}-${hashOf(name)}`.replace(/^-/, 'policy-')]
    }),
  )
}

/** Removes case and composition, which some file systems ignore. */
function plainName(name: string): string {
  const words =
    name
      .toLowerCase()
      .normalize('NFC')
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const plain = [...words.join('-')].slice(0, MAX_LENGTH).join('').replace(/-$/, '')
  return DEVICES.test(plain) ? '' : plain
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8)
}
