import { createHash } from 'node:crypto'

/** In code points; with a suffix and an extension far below the 255 bytes of file systems. */
const MAX_LENGTH = 48
/** What Windows takes for a device, whatever its extension. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/

/**
 * A file name without extension for each policy, by the policy's name: letters and digits in lower
 * case with hyphens between them, so that it can lead nowhere else. Those that would share one, and
 * those for which `isTaken`, get the start of a hash of the policy's name besides: what a policy's
 * file is called depends on nobody's order.
 */
export function nameFiles(
  policyNames: readonly string[],
  isTaken: (fileName: string) => boolean,
): ReadonlyMap<string, string> {
  const users = new Map<string, number>()
  for (const name of policyNames) {
    const plain = plainName(name)
    users.set(plain, (users.get(plain) ?? 0) + 1)
  }
  return new Map(
    policyNames.map((name) => {
      const plain = plainName(name)
      const isAlone = plain !== '' && users.get(plain) === 1 && !isTaken(plain)
      return [name, isAlone ? plain : `${plain}-${hashOf(name)}`.replace(/^-/, 'policy-')]
    }),
  )
}

/** Case and composition are gone: some file systems tell neither apart. */
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
